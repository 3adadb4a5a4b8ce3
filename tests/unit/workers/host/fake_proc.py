"""A folder that looks like `/proc` to whoever reads processes and processor times there."""


class FakeProc:
    def __init__(self, folder, lists_children=True):
        self.folder = folder
        self._lists_children = lists_children
        self._parents = {}
        self.cpu()

    def process(self, pid, parent=0, *, ticks=0, children_ticks=0, faults=0, children_faults=0, started=1):
        """Add a process, or change what it has used; its name holds what a careless reader trips over."""
        task = self.folder / str(pid) / "task" / str(pid)
        task.mkdir(parents=True, exist_ok=True)
        fields = ["S", parent, 1, 1, 0, -1, 0, 9, 9, faults, children_faults, ticks, 0, children_ticks, 0]
        fields += [20, 0, 1, 0, started, 0]
        line = f"{pid} (a) R 1 (b) {' '.join(map(str, fields))}\n"
        (self.folder / str(pid) / "stat").write_text(line)
        self._parents[pid] = parent
        self._list_children()

    def end(self, pid):
        for path in sorted((self.folder / str(pid)).rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        (self.folder / str(pid)).rmdir()
        del self._parents[pid]
        self._list_children()

    def cpu(self, *, work=0, idle=0, steal=0, interrupts=0):
        """Set the ticks that all processors spent."""
        self.folder.mkdir(exist_ok=True)
        total = f"cpu {1000 + work} 0 0 {1000 + idle} 0 {interrupts} 0 {steal} 0 0\n"
        (self.folder / "stat").write_text(total + "cpu0 " + total[4:] + "intr 5 0 0\n")

    def swapped_in(self, pages):
        (self.folder / "vmstat").write_text(f"nr_free_pages 5\npswpin {pages}\npswpout 7\n")

    def _list_children(self):
        for pid in self._parents if self._lists_children else ():
            children = [str(child) for child, parent in self._parents.items() if parent == pid]
            listing = self.folder / str(pid) / "task" / str(pid) / "children"
            listing.write_text(" ".join(children))
