from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from foro.sklearn import ForwardOnlyClassifier


@parametrize_with_checks([ForwardOnlyClassifier(projection_dim=256), ForwardOnlyClassifier(projection_dim=None)])
def test_is_a_scikit_learn_classifier(estimator: ForwardOnlyClassifier, check: object) -> None:
    check(estimator)


def test_parts_equal_the_whole_and_new_classes_may_come_late() -> None:
    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((60, 4)), np.repeat(["c", "a", "b"], 20)
    whole = ForwardOnlyClassifier(64).fit(X, y)
    parts = ForwardOnlyClassifier(64)
    for start in range(0, 60, 7):
        parts.partial_fit(X[start : start + 7], y[start : start + 7])
    assert parts.classes_.tolist() == ["a", "b", "c"]
    assert np.allclose(parts.decision_function(X), whole.decision_function(X), rtol=1e-8, atol=1e-10)
    assert parts.predict(X).tolist() == whole.predict(X).tolist()


def test_a_class_that_was_only_announced_is_never_predicted() -> None:
    model = ForwardOnlyClassifier(16).partial_fit([[1, 1], [1, 2], [2, 1], [2, 2]], [0, 0, 1, 1], classes=[0, 1, 2])
    assert 2 not in model.predict([[-1, -1], [5, -5]])
    assert model.predict_proba([[-1, -1]])[0, 2] == 0


def test_probabilities_are_those_of_the_encoder_and_calibrated() -> None:
    X, y = load_digits(return_X_y=True)
    names = np.array([f"digit {9 - digit}" for digit in y])  # first seen in another order than sorted
    model = ForwardOnlyClassifier(512).fit(X[:1000], names[:1000])
    probabilities = model.predict_proba(X[1000:])
    assert np.allclose(probabilities.sum(axis=1), 1)
    assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(X[1000:])).all()
    order = [model.encoder_.labels.index(model.codes_[label]) for label in model.classes_]
    assert np.array_equal(probabilities, model.encoder_.probabilities(X[1000:])[:, order])
    confidence = probabilities.max(axis=1).mean()
    assert abs(confidence - model.score(X[1000:], names[1000:])) < 0.03


def test_whole_numbers_are_the_same_as_floats_and_strings_are_not() -> None:
    model = ForwardOnlyClassifier(16).partial_fit(np.eye(2), [0, 1])
    model.partial_fit(np.eye(2), [0.0, 1.0])
    assert model.predict(np.eye(2)).tolist() == [0, 1]
    with pytest.raises(ValueError, match="all numbers or all strings"):
        model.partial_fit(np.eye(2), ["a", "b"])


@pytest.mark.parametrize("classes", [None, [0, 1, 2]])
def test_classes_can_be_announced(classes: list[int] | None) -> None:
    model = ForwardOnlyClassifier(16).partial_fit(np.eye(2), [0, 1], classes=classes)
    scores = model.decision_function(np.eye(2))
    assert scores.shape == ((2,) if classes is None else (2, 3))
    assert model.predict(np.eye(2)).tolist() == [0, 1]
