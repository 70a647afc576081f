from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest

from foro.config import LearnerConfig, parse_settings
from foro.errors import InputError
from foro.util.settings import check_settings, setting


@dataclass(frozen=True)
class Oven:
    mode: Literal["bake", "grill"] = setting("bake", "what it does")
    degrees: int = setting(180, "how hot", least=50, most=250)
    minutes: float | None = setting(None, "how long", least=0)
    door: bool = setting(False, "whether it is open")
    fan: float | Literal["auto"] = setting("auto", "its speed")
    name: str = setting("oven", "what it is called")

    def __post_init__(self) -> None:
        check_settings(self)


def test_what_the_types_allow() -> None:
    Oven()
    Oven(mode="grill", degrees=50, minutes=0, door=True, fan=2.5, name="")
    Oven(minutes=1.5, fan=3)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"mode": "fry"}, "mode must be one of bake, grill, not 'fry'"),
        ({"degrees": 300}, "degrees must be a whole number between 50 and 250, not 300"),
        ({"degrees": 180.0}, "degrees must be a whole number between 50 and 250, not 180.0"),
        ({"degrees": None}, "degrees must be a whole number"),
        ({"degrees": True}, "degrees must be a whole number"),
        ({"minutes": -1}, "minutes must be a number of at least 0, or None, not -1"),
        ({"minutes": float("nan")}, "minutes must be a number"),
        ({"minutes": float("inf")}, "minutes must be a number"),
        ({"door": 1}, "door must be true or false, not 1"),
        ({"fan": "fast"}, "fan must be a number, or auto, not 'fast'"),
        ({"name": 7}, "name must be text, not 7"),
    ],
)
def test_what_they_do_not(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Oven(**settings)


def test_none_is_a_word_where_a_setting_has_it() -> None:
    given = parse_settings(["policy=none", "projection_dim=none"])
    config = LearnerConfig(**given)
    assert (config.policy, config.projection_dim) == ("none", None)
