"""What programs do that fork; run as a program: the name of a function here, and a directory.

Every one ends within seconds or dies of an alarm, and prints "ok" when all was as it should be.
"""

from __future__ import annotations

import faulthandler
import itertools
import multiprocessing
import os
import signal
import sys
import threading
import time
from importlib.abc import MetaPathFinder
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parent
PATIENCE = 25
"""Seconds until a child that hangs is killed, with a traceback; closing waits longer than that."""


def said(text):
    return {"role": "user", "content": text}


def embedder(pause=0.0):
    from bag import Bag  # noqa: PLC0415 - not before a scenario wants warmset imported

    one = Bag()
    one.before = lambda _texts: time.sleep(pause)
    return one


def child(work, *, seconds=PATIENCE):
    """Fork; the child works and ends as programs end. Returns its number."""
    number = os.fork()
    if number:
        return number
    faulthandler.register(signal.SIGALRM, chain=True)
    signal.alarm(seconds)
    try:
        work()
    except SystemExit:  # of a child of its own
        raise
    except BaseException:  # noqa: BLE001 - whatever it is, the parent asks for it
        import traceback  # noqa: PLC0415 - seldom

        traceback.print_exc()
        os._exit(1)
    sys.exit(0)


def ended(*numbers):
    for number in numbers:
        _, status = os.waitpid(number, 0)
        assert os.waitstatus_to_exitcode(status) == 0, f"a child ended with {status}"


def use(path, text, **options):
    """Open, append, find, window, close."""
    from warmset import Memory  # noqa: PLC0415

    with Memory.open(path, embedder=embedder(), **options) as memory:
        log = memory.conversation(text)
        log.append([said(f"{text} the harbour {n}") for n in range(3)])
        assert len(memory.search("harbour", k=2)) == 2
        assert log.window(budget=2_000).messages
    assert len(text) < 100


def whole(path, names):
    """Assert that the store has those conversations, three turns each, and no damage."""
    from warmset import Memory  # noqa: PLC0415
    from warmset.native import ColdStore  # noqa: PLC0415

    with Memory.open(path, embedder="lexical") as memory:
        found = {name: len(memory.conversation(name)) for name in memory.conversations()}
    assert found == dict.fromkeys(names, 3), found
    store = ColdStore.open(path, mode="read")
    assert not store.verify()["damages"]


def prefork(path, **options):
    """A parent with an open memory and vectors pending, and children that open the store."""
    from warmset import Memory  # noqa: PLC0415
    from warmset.errors import Forked  # noqa: PLC0415

    memory = Memory.open(path, embedder=embedder(0.3), **options)
    log = memory.conversation("parent")
    log.append([said(f"parent {n}") for n in range(3)])

    def work(number):
        for call in (
            lambda: log.append(said("not mine")),
            lambda: log.window(budget=1_000),
            lambda: memory.search("parent"),
            memory.conversations,
            memory.flush,
            memory.stats,
            lambda: memory.remember("not mine"),
        ):
            with pytest.raises(Forked, match=str(os.getppid())):
                call()
        if number % 2:
            memory.close()
            memory.close()
        use(path, f"child {number}", **options)
        if number % 3 == 0:
            one = Memory.open(path, embedder=embedder(), **options)
            one.conversation(f"left open {number}").append([said("x")] * 3)
            globals()["kept"] = one  # to be collected at exit

    numbers = [child(lambda n=n: work(n)) for n in range(6)]
    ended(*numbers)
    assert len(log) == 3
    memory.flush()
    assert memory.stats()["ready"] >= 3
    again = memory.conversation("after")
    again.append([said("and on it goes")] * 3)
    memory.close()
    lefts = [f"left open {n}" for n in (0, 3)]
    whole(path, ["parent", "after", *(f"child {n}" for n in range(6)), *lefts])


def prefork_interval(path):
    prefork(path, durability="interval", sync_interval=0.001)


def prefork_spool(path):
    prefork(path, on_busy="spool")


def cells(path):
    """A log of the parent, in a child that opens the store again; a thread of the parent writes."""
    from warmset.errors import Forked  # noqa: PLC0415
    from warmset.native import Add, ColdStore, Log, Put, space  # noqa: PLC0415

    store = ColdStore.open(path)
    log = Log(store)
    key, entries = ("t", space("s"), "key"), ("t", space("l"), "list")
    over = threading.Event()
    log.write([Put(key, b"parent"), Add(entries, b"parent")])

    def write():
        while not over.is_set():
            log.write([Put(key, b"parent"), Add(entries, b"parent")], sync=False)
            log.count()

    thread = threading.Thread(target=write)
    thread.start()

    def work():
        for call in (
            lambda: log.write([Put(key, b"not mine")]),
            lambda: log.get(key),
            lambda: log.version(key),
            lambda: log.tail(entries),
            lambda: log.entries(entries),
            log.scan,
            log.count,
            lambda: log.spaces(depth=1),
        ):
            with pytest.raises(Forked):
                call()
        with ColdStore.open(path, lock_wait=20.0) as own:
            mine = Log(own)
            mine.write([Add(entries, b"child", uid=str(os.getpid()), if_present="fail")])
            assert mine.get(key).payload == b"parent"

    for _ in range(10):
        ended(child(work))
    over.set()
    thread.join()
    assert sum(entry.payload == b"child" for entry in log.entries(entries, limit=None)) == 10
    store.close()


def exclusive(path):
    """The child is not let in while the parent has the store, and does not let others in."""
    from warmset import Memory  # noqa: PLC0415
    from warmset.errors import Locked  # noqa: PLC0415

    memory = Memory.open(path, embedder="lexical", mode="exclusive")
    memory.conversation("parent").append([said("x")] * 3)

    def locked_out():
        with pytest.raises(Locked, match=str(os.getppid())):
            Memory.open(path, embedder="lexical", mode="exclusive")

    ended(child(locked_out))
    ended(child(memory.close))  # the child's closing gives nothing away
    ended(child(locked_out))
    memory.close()
    ended(child(lambda: use(path, "child", mode="exclusive")))
    whole(path, ["parent", "child"])


def busy(path):  # noqa: C901 - one line for each thing that others do
    """Fork while other threads append, embed, open and close stores, and save indexes."""
    from warmset import Memory  # noqa: PLC0415

    over = threading.Event()
    memory = Memory.open(path, embedder=embedder(0.001))
    failed = []

    def repeat(work):
        def run():
            try:
                for n in itertools.count():
                    if over.is_set():
                        return
                    work(n)
                    time.sleep(0.002)
            except BaseException as error:
                failed.append(error)
                raise

        return threading.Thread(target=run)

    def append(_n):
        memory.conversation("busy").append(said("the harbour and its ferry"))

    def reopen(n):
        with Memory.open(path.with_name("other"), embedder="lexical") as other:
            other.conversation("o").append(said(f"{n}"))

    def share(_n):
        Memory.open(path, embedder=embedder()).close()

    def erase(n):
        memory.conversation(f"gone {n}").append(said("to be erased"))
        memory.erase(conversation=f"gone {n}")

    def find(_n):
        memory.search("ferry", k=3)

    threads = [repeat(work) for work in (append, append, reopen, reopen, share, erase, find)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    for thread in threads:
        thread.start()
    try:
        for n in range(25):
            ended(child(lambda n=n: use(path.with_name("fresh"), f"child {n}"), seconds=20))
    finally:
        over.set()
        sys.setswitchinterval(before)
    for thread in threads:
        thread.join()
    assert not failed, failed
    memory.close()
    whole(path.with_name("fresh"), [f"child {n}" for n in range(25)])


def locks(path):
    """A child gives back no lock of a file, and goes on with a lock that the forking thread has."""
    from warmset._core import lock_file  # noqa: PLC0415
    from warmset._support.forks import Lock  # noqa: PLC0415

    held = lock_file(path)
    ended(child(held.release))
    assert lock_file(path) is None, "the parent has it"
    held.release()
    assert lock_file(path) is not None
    lock, others, taken, go_on = Lock(), Lock(), threading.Event(), threading.Event()

    def hold():
        with others:
            taken.set()
            go_on.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait(20)

    def work():
        with others:  # whose thread the child does not have
            pass

    with lock:
        number = os.fork()
        if not number:
            signal.alarm(PATIENCE)
            work()
            other = threading.Thread(target=lock.__enter__, daemon=True)
            other.start()
            other.join(0.2)
            assert other.is_alive(), "the thread that forked has it in the child, too"
    if not number:
        os._exit(0)
    ended(number)
    go_on.set()
    thread.join()


class Slow(MetaPathFinder):
    """Delays the import of a module, and says when it began."""

    def __init__(self, name):
        self.name, self.begun = name, threading.Event()

    def find_spec(self, name, _path=None, _target=None):
        if name == self.name:
            sys.meta_path.remove(self)
            self.begun.set()
            time.sleep(1)


def lazy_import(path):
    """Fork while another thread imports what the child needs."""
    import warmset  # noqa: PLC0415

    slow = Slow("warmset.conversation")
    sys.meta_path.insert(0, slow)
    thread = threading.Thread(target=lambda: warmset.Memory)
    thread.start()
    assert slow.begun.wait(30)
    time.sleep(0.05)
    ended(child(lambda: use(path, "child")))
    thread.join()
    whole(path, ["child"])


def first_import(path):
    """Fork while another thread looks for a package that the child needs."""
    import warmset  # noqa: F401, PLC0415

    slow = Slow("tokenizers")
    sys.meta_path.insert(0, slow)
    thread = threading.Thread(target=lambda: __import__("tokenizers"))
    thread.start()
    assert slow.begun.wait(30)
    ended(child(lambda: __import__("tokenizers")))
    thread.join()
    use(path, "parent")
    whole(path, ["parent"])


def own_import(path):
    """Fork in the middle of an import: the thread that forks waits for nobody but itself."""
    import warmset  # noqa: PLC0415

    class Forks(Slow):
        def find_spec(self, name, _path=None, _target=None):
            if name == self.name:
                sys.meta_path.remove(self)
                ended(child(lambda: None))

    sys.meta_path.insert(0, Forks("warmset.conversation"))
    assert warmset.Memory
    use(path, "parent")
    whole(path, ["parent"])


def model(path):
    """A model that a thread of the parent is loading, and one that it has loaded, in a child."""
    from warmset import Memory, embed  # noqa: PLC0415

    local = embed.MiniLM()
    memory = Memory.open(path, embedder=local)
    memory.conversation("parent").append([said("the ferry leaves at nine")] * 3)  # loads it

    def work():
        with Memory.open(path, embedder=local) as mine:
            mine.conversation("child").append([said("the boat departs at nine o'clock")] * 3)
            mine.flush()
            assert mine.search("ship", k=1).by == "fused"

    ended(child(work, seconds=30))
    memory.flush()
    ended(child(work, seconds=30))
    memory.close()
    with Memory.open(path, embedder="lexical") as memory:
        assert len(memory.conversation("child")) == 6


def killed(path):
    """Workers that are killed at work, and others in their places, as job queues have them."""
    from warmset import Memory  # noqa: PLC0415

    reader, writer = os.pipe()
    with Memory.open(path, embedder=embedder()) as memory:
        memory.conversation("parent").append([said("x")] * 3)
        for n in range(5):

            def work(n=n):
                with Memory.open(path, embedder=embedder(0.01)) as mine:
                    for at in itertools.count():
                        mine.conversation("jobs").append(said(f"job {n} {at}"))
                        if not at:
                            os.write(writer, b"x")

            number = child(work)
            assert os.read(reader, 1)
            time.sleep(0.15)
            os.kill(number, signal.SIGKILL)
            os.waitpid(number, 0)
            memory.conversation(f"round {n}").append([said("x")] * 3)
    with Memory.open(path, embedder="lexical") as memory:
        log = memory.conversation("jobs")
        jobs = [log.fetch(id_)["content"].split() for id_ in log.ids]
        assert {name for _, name, _ in jobs} == set("01234")
        memory.erase(conversation="jobs")
    whole(path, ["parent", *(f"round {n}" for n in range(5))])


def _task(given):
    path, n = given
    use(Path(path), f"task {n}")
    return os.getpid()


def pool(path, method):
    """A pool of processes beside an open memory."""
    from warmset import Memory  # noqa: PLC0415

    with Memory.open(path, embedder=embedder(0.1)) as memory:
        memory.conversation("parent").append([said("x")] * 3)
        with multiprocessing.get_context(method).Pool(2) as workers:
            tasks = [(str(path), n) for n in range(6)]
            assert os.getpid() not in workers.map_async(_task, tasks).get(60)
        memory.conversation("after").append([said("x")] * 3)
    whole(path, ["parent", "after", *(f"task {n}" for n in range(6))])


def pool_fork(path):
    pool(path, "fork")


def pool_spawn(path):
    pool(path, "spawn")


def pool_forkserver(path):
    pool(path, "forkserver")


def grandchild(path):
    """A child forks, too."""
    from warmset import Memory  # noqa: PLC0415

    memory = Memory.open(path, embedder=embedder(0.2))
    memory.conversation("parent").append([said("x")] * 3)

    def work():
        mine = Memory.open(path, embedder=embedder(0.2))
        mine.conversation("child").append([said("x")] * 3)
        ended(child(lambda: use(path, "grandchild")))
        mine.close()

    ended(child(work))
    memory.close()
    whole(path, ["parent", "child", "grandchild"])


def compaction(path):
    """Compaction, whose caches a thread of the parent has locked while it embeds."""
    from warmset import compact_context  # noqa: PLC0415

    one = embedder(0.05)
    turns = [said(f"turn {n} about the harbour and its ferry") for n in range(60)]
    over = threading.Event()

    def again():
        for n in itertools.count():
            if over.is_set():
                return
            compact_context([*turns, said(f"new {n}")] * 2, embedder=one, query="ferry")

    thread = threading.Thread(target=again)
    thread.start()
    time.sleep(0.02)
    for _ in range(10):
        ended(child(lambda: compact_context(turns, embedder=one, query="harbour")))
    over.set()
    thread.join()
    assert path


if __name__ == "__main__":
    faulthandler.enable()
    globals()[sys.argv[1]](Path(sys.argv[2]))
    print("ok")
