"""Learning on many machines by Ray (extra ``ray``): the same classifier, to rounding, as on one."""

from foro.cluster.ray_engine import RayEngine

__all__ = ["RayEngine"]
