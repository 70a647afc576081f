"""The knowledge encoder as a scikit-learn classifier over feature vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foro.config import Regularisation
from foro.heads.ridge import KnowledgeEncoder

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets, unique_labels
    from sklearn.utils.validation import check_is_fitted, validate_data
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f'foro.sklearn needs {error.name}: pip install "foro[sklearn]"') from None


class ForwardOnlyClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Closed-form continual classifier: ``partial_fit`` in any number of parts equals one ``fit``.

    Parameters are those of ``foro.heads.ridge.KnowledgeEncoder``; ``random_state`` is its seed.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ForwardOnlyClassifier(projection_dim=256).fit(X[:500], y[:500])
    >>> model.partial_fit(X[500:1500], y[500:1500]).score(X[1500:], y[1500:]) > 0.9
    True
    """

    def __init__(
        self,
        projection_dim: int | None = 2048,
        regularisation: Regularisation = "auto",
        activation: str = "relu",
        random_state: int = 0,
    ) -> None:
        self.projection_dim = projection_dim
        self.regularisation = regularisation
        self.activation = activation
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> ForwardOnlyClassifier:
        """Learns from X (n, d) and y (n,); what was learned before is lost."""
        return self._learn(X, y, None, reset=True)

    def partial_fit(self, X: Any, y: Any, classes: ArrayLike | None = None) -> ForwardOnlyClassifier:
        """Learns more samples; new classes may come at any time, so ``classes`` is not needed."""
        return self._learn(X, y, classes, reset=not hasattr(self, "encoder_"))

    def _learn(self, X: Any, y: Any, classes: ArrayLike | None, reset: bool) -> ForwardOnlyClassifier:
        X, y = validate_data(self, X, y, reset=reset)
        check_classification_targets(y)
        if reset:
            self.encoder_ = KnowledgeEncoder(
                self.n_features_in_, self.projection_dim, self.regularisation, self.activation, self.random_state
            )
            self.classes_ = unique_labels(y) if classes is None else np.unique(np.asarray(classes))
            self.codes_: dict[Any, int] = {}
        announced = [self.classes_, unique_labels(y)] + ([] if classes is None else [np.asarray(classes)])
        if len({np.asarray(each).dtype.kind in "OSU" for each in announced}) > 1:
            raise ValueError("labels are all numbers or all strings, from the first call to the last")
        codes = dict(self.codes_)
        for label in y.tolist():
            codes.setdefault(label, len(codes))
        self.encoder_.absorb(X, [codes[label] for label in y.tolist()])
        self.codes_, self.classes_ = codes, np.unique(np.concatenate(announced))
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores (n, c) in the order of ``classes_``; for two classes, (n,): that of the second less the first."""
        by_code = self._encoder().scores(validate_data(self, X, reset=False))
        # A class that was only announced comes last.
        scores = self._in_order(by_code, by_code.min(axis=1, keepdims=True) - 1.0)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Calibrated probabilities (n, c) in the order of ``classes_``; a class that was only announced has none."""
        by_code = self._encoder().probabilities(validate_data(self, X, reset=False))
        return self._in_order(by_code, np.zeros((len(by_code), 1)))

    def predict(self, X: Any) -> NDArray[Any]:
        """The label with the highest score of each sample."""
        scores = self.decision_function(X)
        numbers = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[numbers])

    def _encoder(self) -> KnowledgeEncoder:
        check_is_fitted(self, "encoder_")
        return self.encoder_

    def _in_order(self, by_code: NDArray[np.float64], never_seen: NDArray[np.float64]) -> NDArray[np.float64]:
        """Columns of the encoder (n, k) in the order of ``classes_``, and ``never_seen`` (n, 1) for the others."""
        columns = [self.codes_.get(label, -1) for label in self.classes_.tolist()]
        return np.concatenate([by_code, never_seen], axis=1)[:, columns]
