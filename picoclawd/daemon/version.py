"""The installed version."""

from importlib import metadata


def version() -> str:
    """As the package's metadata has it; `0+unknown` in a tree that is not installed."""
    try:
        return metadata.version("picoclawd")
    except metadata.PackageNotFoundError:
        return "0+unknown"
