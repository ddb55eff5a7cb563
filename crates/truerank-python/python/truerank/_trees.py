"""Labels as training data of LightGBM and XGBoost, which are imported only where they are asked for."""


def lightgbm(labels, data, feature_names):
    """The parameters that the labels ask for, and a `lightgbm.Dataset` of the documents that were shown."""
    import lightgbm

    names = _names(data, feature_names) or "auto"
    groups = {"group": labels.group, "weight": labels.weight}
    return labels.params, lightgbm.Dataset(_shown(labels, data), labels.label, feature_name=names, **groups)


def xgboost(labels, data, feature_names):
    """The parameters that the labels ask for, and an `xgboost.DMatrix` of the documents that were shown."""
    import xgboost

    names = _names(data, feature_names)
    # XGBoost takes a weight per document or groups, but not both.
    groups = {"group": labels.group} if labels.weight is None else {"weight": labels.weight}
    return labels.params, xgboost.DMatrix(_shown(labels, data), labels.label, feature_names=names, **groups)


def _shown(labels, data):
    """The features of the documents that have a label."""
    return getattr(data, "train", data).features[labels.rows]


def _names(data, feature_names):
    """The names that were given, or those of the data set."""
    return list(feature_names) if feature_names is not None else getattr(data, "train", data).feature_names
