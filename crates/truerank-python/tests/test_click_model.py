"""Click models: fit, predict, exposure, measures, relevance, files."""

import numpy as np
import pytest

import truerank


@pytest.fixture(scope="module")
def counts():
    simulation = truerank.simulate(truerank.generate("tiny"), sessions=4000, swap=0.3, shuffle=0.3, etas=[2.0, 0.3])
    return truerank.Counts.from_log(simulation.log(), transitions=True)


@pytest.mark.parametrize("model", ["pbm", "ubm", "cm", "dcm", "sdbn", "dbn", "ccm", "trust", "additive"])
def test_every_model_predicts_as_many_clicks_as_there_are(counts, model):
    fitted = truerank.click_model.fit(counts, model=model, prior="none", iterations=300)
    cells = fitted.predict(counts)
    expected = (cells["impressions"] * cells["probability"]).sum()
    # The likelihood equations of the additive model say so. Those of the others weigh impressions, so it holds nearly. A cascade tells
    # of first clicks only.
    if model != "cm":
        assert expected == pytest.approx(cells["clicks"].sum(), rel=0.002 if model == "additive" else 0.05)
    measures = fitted.measure(counts)
    assert measures["log_likelihood"] < 0 and 1 < measures["perplexity"] < (3 if model == "cm" else 2)
    assert measures["sessions"] == 4000
    exposure = fitted.exposure(counts)
    assert exposure["impressions"].sum() == cells["impressions"].sum()


def test_users_kinds_and_files(counts, tmp_path):
    alike = truerank.click_model.fit(counts, model="dbn")
    assert alike.by_user is None and len(alike.users) == 0
    own = truerank.click_model.fit(counts, model="dbn", per_user=True)
    assert own.by_user.shape == (len(own.users), 1)
    kinds = truerank.click_model.fit(counts, model=["pbm", "dbn"])
    assert kinds.by_user.shape == (len(kinds.users), 2)
    assert np.allclose(kinds.by_user.sum(axis=1), 1)
    for model in [alike, own, kinds]:
        model.write(tmp_path / "click-model.json")
        assert truerank.ClickModel.read(tmp_path / "click-model.json") == model


def test_relevance_by_a_model(counts):
    model = truerank.click_model.fit(counts, model="pbm", per_user=True)
    weights = truerank.relevance(counts, model, estimator="user-aware")
    table = model.exposure(counts)
    assert np.allclose(weights.table["exposure"], table["exposure"])
    assert np.allclose(weights.weights, table["clicks"] / table["exposure"])
    assert weights.diagnostics()["clicks"] == table["clicks"].sum()


def test_counts_without_transitions_are_refused():
    plain = truerank.simulate(truerank.generate("tiny"), sessions=100).counts()
    with pytest.raises(ValueError, match="no click transitions.*count the log with transitions"):
        truerank.click_model.fit(plain)
    with pytest.raises(ValueError, match="all browse alike"):
        truerank.click_model.fit(plain, model="cm", per_user=True)
