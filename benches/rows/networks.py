"""Our networks, losses and optimiser as PyTorch has them."""

import torch
from torch import nn


def network(features, hidden):
    """Layer norm on the input of every linear layer, ELU between layers."""
    layers, inputs = [], features
    for outputs in hidden:
        layers += [nn.LayerNorm(inputs), nn.Linear(inputs, outputs), nn.ELU()]
        inputs = outputs
    return nn.Sequential(*layers, nn.LayerNorm(inputs), nn.Linear(inputs, 1))


def listwise_loss(scores, weights):
    """Lists as rows; what is not there has a score of −∞ and no weight."""
    logs = torch.log_softmax(scores, dim=1)
    return -torch.where(weights > 0, weights * logs, 0.0).sum() / weights.sum()


def optimizer(model):
    """The fused form is PyTorch's fastest on CPUs."""
    return torch.optim.Adagrad(model.parameters(), lr=0.01, fused=True)


def step(model, adagrad, scores, weights):
    loss = listwise_loss(scores, weights)
    adagrad.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    adagrad.step()
