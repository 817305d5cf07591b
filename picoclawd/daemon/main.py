"""The command line of the daemon: `picoclawd [serve] | check-config | schema | methods | install-service`."""

import argparse
import json
import os
import sys
from collections.abc import Sequence

from picoclawd.daemon.version import version

EXIT_USAGE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; `serve` is meant where none is named."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or (arguments[0].startswith("-") and arguments[0] not in ("-h", "--help", "--version")):
        arguments.insert(0, "serve")
    options = _parser().parse_args(arguments)
    command: str = options.command
    if command == "check-config":
        return _check_config(options)
    if command == "schema":
        return _schema()
    if command == "install-service":
        return _install_service(options)
    if command == "methods":
        return _methods()
    return _serve(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="picoclawd", description="One shared file system toolbox for several agents.")
    parser.add_argument("--version", action="version", version=f"picoclawd {version()}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="run in the foreground (the default command)")
    _add_config_options(serve)
    serve.add_argument("--workspace", metavar="DIR", help="the agents' directory; reads no configuration by itself")
    serve.add_argument("--socket", metavar="PATH", help="the agents' socket, in place of the derived one")
    serve.add_argument("--log-level", default="info", choices=("debug", "info", "warning", "error"))
    check = commands.add_parser("check-config", help="list every fault of the configuration")
    _add_config_options(check)
    commands.add_parser("schema", help="print the JSON Schema of the configuration")
    _add_install_service(commands.add_parser("install-service", help="have systemd run it for you, or no more"))
    commands.add_parser("methods", help="print every method with its JSON Schemas, as JSON")
    return parser


def _add_config_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="the configuration; see README for the search order")
    parser.add_argument("--instance", metavar="NAME", help="name of this daemon in socket and state paths")


def _add_install_service(parser: argparse.ArgumentParser) -> None:
    _add_config_options(parser)
    parser.add_argument("--workspace", metavar="DIR", help="the agents' directory, as for serve")
    parser.add_argument("--no-sandbox", action="store_true", help="without the drop-in that confines the daemon")
    parser.add_argument("--uninstall", action="store_true", help="stop and remove the instance, or all without one")
    parser.add_argument("--dry-run", action="store_true", help="only print what would be written or removed")


def _serve(options: argparse.Namespace) -> int:
    from picoclawd.daemon.app import Request, serve

    return serve(
        Request(
            config=options.config,
            instance=options.instance,
            workspace=options.workspace,
            socket=options.socket,
            log_level=options.log_level,
        )
    )


def _check_config(options: argparse.Namespace) -> int:
    from picoclawd.daemon.config_check import check

    lines, status = check(config=options.config, instance=options.instance, environ=os.environ)
    print("\n".join(lines))
    return status


def _install_service(options: argparse.Namespace) -> int:
    from picoclawd.daemon.install_service import Wish, install, uninstall

    wish = Wish(
        config=options.config,
        instance=options.instance,
        workspace=options.workspace,
        sandbox=not options.no_sandbox,
        dry_run=options.dry_run,
    )
    return uninstall(wish, os.environ) if options.uninstall else install(wish, os.environ)


def _schema() -> int:
    from picoclawd.daemon.config import schema

    print(json.dumps(schema(), indent=2))
    return 0


def _methods() -> int:
    from picoclawd.rpc.catalogue import describe_all

    print(json.dumps(describe_all(), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
