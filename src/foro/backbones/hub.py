"""timm's checkpoints on the Hugging Face hub, and in its local cache."""

from __future__ import annotations

from pathlib import Path

from foro.backbones.checkpoint import CONFIG_FILE, WEIGHTS_FILE
from foro.backbones.timm_table import full_names
from foro.errors import BackboneError, did_you_mean, first_line
from foro.util.progress import quiet


def download(name: str, revision: str | None = None, repository: str | None = None) -> Path:
    """Folder of a repository in the cache, ``timm/<name>`` if none is given; downloaded if it is not there yet."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import (
        EntryNotFoundError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    repository = repository or f"timm/{name}"
    try:
        # The small file first: a wrong name costs nothing. The client would tell of each of its attempts.
        with quiet("huggingface_hub"):
            for file in (CONFIG_FILE, WEIGHTS_FILE):
                path = hf_hub_download(repository, file, revision=revision)
    except LocalEntryNotFoundError:
        known = "" if name in full_names() else did_you_mean(name, full_names())
        raise BackboneError(
            f"{name} is not in the local cache and the Hugging Face hub cannot be reached"
            f"{known or '; connect once, or give a folder with model.safetensors and config.json'}"
        ) from None
    except RevisionNotFoundError:
        raise BackboneError(f"{repository} has no revision {revision!r} on the Hugging Face hub") from None
    except RepositoryNotFoundError:
        raise BackboneError(
            f"there is no {repository} on the Hugging Face hub{did_you_mean(name, full_names())}"
        ) from None
    except EntryNotFoundError:
        raise BackboneError(f"{repository} has no {file}, so its weights cannot be used safely") from None
    except Exception as error:
        # Whatever the connection, the disk or the hub's server can raise, the user needs one line.
        raise BackboneError(f"{repository} could not be downloaded: {first_line(error)}") from error
    return Path(path).parent
