"""`benchtui completion`: the completion script for bash, zsh or fish."""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "fish")
USE = """install it where the shell looks:
  bash   benchtui completion bash > ~/.local/share/bash-completion/completions/benchtui
  zsh    benchtui completion zsh > "${fpath[1]}/_benchtui"
  fish   benchtui completion fish > ~/.config/fish/completions/benchtui.fish"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = USE
    parser.add_argument("shell", choices=SHELLS, help="shell to complete in")


def main(args: argparse.Namespace) -> int:
    """Print the script."""
    from argcomplete.shell_integration import shellcode

    print(undescribed(shellcode(["benchtui"], shell=args.shell)), end="")
    return 0


def undescribed(script: str) -> str:
    """Return the script changed so that zsh lists names without a description cleanly."""
    shown = '        _describe "${words[1]}" completions'
    return script.replace(shown, f'        completions=("${{(@)completions%:}}")\n{shown}')
