/** A journal on a real disk: what it promises of processes that die, share a folder, or find no room. */
import { spawnSync } from "node:child_process";
import { appendFileSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { throwAwayFolder } from "@/lib/services/throw-away";
import { FileJournal } from "./file-journal";
import { readLines } from "./lines";

const ORPHAN_MS = 6_000;

/** Journals of several processes on one folder, by one clock of the test's own. */
function folderOfJournals() {
  const folder = join(throwAwayFolder("spillway-journal"), "journal");
  let elapsedMs = 0;
  const troubles: string[] = [];
  return {
    folder,
    troubles,
    pass: (ms: number) => {
      elapsedMs += ms;
    },
    journal: (owner: string, maxBytes = 1_000_000) =>
      new FileJournal({
        folder,
        owner,
        maxBytes,
        elapsedMs: () => elapsedMs,
        orphanMs: ORPHAN_MS,
        onTrouble: (what) => troubles.push(what),
      }),
    files: () => readdirSync(folder),
  };
}

describe("a journal", () => {
  it("is a file that its owner alone may read, and gone once nothing in it is needed", () => {
    const { folder, files, journal } = folderOfJournals();
    const own = journal("one");
    expect(own.append("a", '{"n":1}')).toBe(true);
    expect(own.append("a", '{"n":2}')).toBe(true);
    const [file = ""] = files();
    expect((statSync(join(folder, file)).mode & 0o777).toString(8)).toBe("600");
    expect((statSync(folder).mode & 0o777).toString(8)).toBe("700");
    expect(readLines(readFileSync(join(folder, file), "utf8")).lines).toEqual([
      { id: "a", text: '{"n":1}' },
      { id: "a", text: '{"n":2}' },
    ]);
    own.remove("a");
    expect([own.size, files()]).toEqual([0, []]);
  });

  it("goes to one of the processes that find it once its own has stood still, and to none before", async () => {
    const { files, journal, pass } = folderOfJournals();
    journal("dead").append("a", "1");
    const heirs = [journal("one"), journal("two"), journal("three")];
    const take = () => Promise.all(heirs.map((heir) => heir.takeOrphans()));
    expect(await take()).toEqual([[], [], []]);
    pass(ORPHAN_MS - 1);
    expect(await take()).toEqual([[], [], []]);
    pass(1);
    const taken = await take();
    expect(taken.flat()).toEqual([{ id: "a", text: "1" }]);
    const heir = heirs[taken.findIndex((lines) => lines.length > 0)];
    // It is the heir's own now, for whoever comes after it.
    expect([heir?.has("a"), files().length]).toEqual([true, 1]);
    heir?.remove("a");
    expect(files()).toEqual([]);
  });

  it("is not taken from a process that gives signs of life", async () => {
    const { journal, pass } = folderOfJournals();
    const [living, heir] = [journal("living"), journal("heir")];
    living.append("a", "1");
    for (let second = 0; second < 20; second += 1) {
      expect(await heir.takeOrphans()).toEqual([]);
      pass(1_000);
      living.beat();
    }
  });

  it("is written anew by a process that stood still so long that another took it", async () => {
    const { files, journal, pass } = folderOfJournals();
    const [frozen, heir] = [journal("frozen"), journal("heir")];
    frozen.append("a", "1");
    await heir.takeOrphans();
    pass(ORPHAN_MS);
    expect(await heir.takeOrphans()).toHaveLength(1);
    heir.remove("a");
    expect(files()).toEqual([]);
    frozen.beat();
    expect(files()).toHaveLength(1);
    expect(frozen.has("a")).toBe(true);
  });

  it("leaves out a line that was torn, and keeps those before and after it", async () => {
    const { files, folder, journal, pass, troubles } = folderOfJournals();
    const dead = journal("dead");
    dead.append("a", "1");
    const [file = ""] = files();
    appendFileSync(join(folder, file), "0123456789abcdef b half of a li");
    appendFileSync(join(folder, file), "\n");
    dead.append("c", "3");
    appendFileSync(join(folder, file), "fedcba9876543210 d torn at the e");
    const heir = journal("heir");
    await heir.takeOrphans();
    pass(ORPHAN_MS);
    expect(await heir.takeOrphans()).toEqual([
      { id: "a", text: "1" },
      { id: "c", text: "3" },
    ]);
    expect(troubles).toEqual(["2 damaged lines of a journal were left out"]);
  });

  it("refuses a line past its bound, and has room again for as much as is not needed any more", () => {
    const { files, journal } = folderOfJournals();
    const own = journal("one", 10_000);
    const text = "x".repeat(900);
    let count = 0;
    while (own.append(String(count), text)) count += 1;
    expect(count).toBe(10);
    for (let id = 0; id < 8; id += 1) own.remove(String(id));
    expect(own.append("again", text)).toBe(true);
    expect(files()).toHaveLength(1);
    expect(own.has("9")).toBe(true);
  });

  it("stays as it was, for another try, where the heir has no room for it", async () => {
    const { files, journal, pass } = folderOfJournals();
    const dead = journal("dead");
    for (const id of ["a", "b", "c"]) dead.append(id, "x".repeat(400));
    const small = journal("small", 1_000);
    await small.takeOrphans();
    pass(ORPHAN_MS);
    expect(await small.takeOrphans()).toEqual([]);
    expect([small.size, files().length]).toEqual([0, 1]);
    const large = journal("large");
    await large.takeOrphans();
    pass(ORPHAN_MS);
    expect((await large.takeOrphans()).map(({ id }) => id)).toEqual(["a", "b", "c"]);
  });

  it("refuses a line for which the disk has no room, and leaves none of it behind", () => {
    const folder = join(throwAwayFolder("spillway-journal"), "journal");
    const module = join(import.meta.dirname, "file-journal.ts");
    // A process whose files may have 8 blocks of 1,024 bytes: the write fails as on a full disk, in the middle of a line.
    const script = `
      import { FileJournal } from ${JSON.stringify(module)};
      const options = { folder: ${JSON.stringify(folder)}, owner: "full", maxBytes: 1e9, elapsedMs: () => 0 };
      const journal = new FileJournal(options);
      let count = 0;
      while (journal.append(String(count), "x".repeat(900))) count += 1;
      console.log(JSON.stringify([count, journal.append("small", "y")]));`;
    const { stdout, stderr } = spawnSync(
      "bash",
      [
        "-c",
        'export TSX_DISABLE_CACHE=1; ulimit -f 8; exec "$0" --import tsx --input-type=module -e "$1"',
        process.execPath,
        script,
      ],
      { cwd: join(import.meta.dirname, "../.."), encoding: "utf8" },
    );
    expect([stdout.trim(), stderr]).toEqual(["[8,true]", ""]);
    const [file = ""] = readdirSync(folder);
    const { lines, damaged } = readLines(readFileSync(join(folder, file), "utf8"));
    expect([lines.length, damaged]).toEqual([9, 0]);
  });

  it("refuses where its folder cannot be made", () => {
    const { folder, journal } = folderOfJournals();
    appendFileSync(folder, "a file where the folder should be");
    expect(journal("one").append("a", "1")).toBe(false);
  });
});
