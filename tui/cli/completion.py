"""`benchtui completion`: the script that makes a shell complete verbs, options, profiles, hosts and
runs.
"""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "fish")
USE = """put it where the shell finds it:
  bash   benchtui completion bash > ~/.local/share/bash-completion/completions/benchtui
  zsh    benchtui completion zsh > "${fpath[1]}/_benchtui"
  fish   benchtui completion fish > ~/.config/fish/completions/benchtui.fish"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = USE
    parser.add_argument("shell", choices=SHELLS, help="the shell that shall complete")


def main(args: argparse.Namespace) -> int:
    """Print the script."""
    from argcomplete.shell_integration import shellcode

    print(undescribed(shellcode(["benchtui"], shell=args.shell)), end="")
    return 0


def undescribed(script: str) -> str:
    """Return the script so that zsh lists names that have no description without a dash behind
    each.
    """
    shown = '        _describe "${words[1]}" completions'
    return script.replace(shown, f'        completions=("${{(@)completions%:}}")\n{shown}')
