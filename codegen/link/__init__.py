"""Kernels from ELF objects: read, laid out in executable memory, and their words fixed up.

What is kept, where it lies and what a relocation does follow ``package.md`` 4.3:

* :mod:`~ipuopt.codegen.link.objects` reads a file, :mod:`~ipuopt.codegen.link.library` makes one set of
  names out of several;
* sections that relocations reach from the called kernels are kept, and lie in the order of files and
  sections, first fit going forward only (:mod:`~ipuopt.codegen.link.layout`);
* :mod:`~ipuopt.codegen.link.relocations` says what each type writes, and
  :mod:`~ipuopt.codegen.link.linking` writes it, once for all tiles but for the names whose value is a
  tile's own.
"""

from __future__ import annotations

from ipuopt.codegen.link.layout import Layout, lay_out
from ipuopt.codegen.link.library import Library, read_library
from ipuopt.codegen.link.linking import Linked, link

__all__ = ["Layout", "Library", "Linked", "lay_out", "link", "read_library"]
