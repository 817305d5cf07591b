"""Pure functions over str and bytes: no os, no pathlib, no trio, no clock."""
