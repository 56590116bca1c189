#!/bin/sh
# Stands for an agent. It works in a checkout of its own, made for this run, and pushes nothing: what it leaves below
# content/ is committed and pushed by Fencepost, if this run still has its turn.
set -eu
name=$(printf %s "$FENCEPOST_SLOT" | tr -c 'A-Za-z0-9.-' '-')
mkdir -p content
sed "s|@SLOT@|$FENCEPOST_SLOT|" template.md > "content/$name.md"
echo "wrote content/$name.md"
