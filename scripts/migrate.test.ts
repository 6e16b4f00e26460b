import { describe, expect, it } from "vitest";
import { pendingMigrations } from "./migrate";

const file = (name: string, checksum = `sum of ${name}`) => ({ name, sql: "select 1", checksum });
const row = (name: string, checksum = `sum of ${name}`, finished = true) => ({ name, checksum, finished });

describe("pending migrations", () => {
  it("are the files that the database has not had, in order", () => {
    const pending = pendingMigrations([file("1_a"), file("2_b"), file("3_c")], [row("1_a")]);
    expect(pending.map((migration) => migration.name)).toEqual(["2_b", "3_c"]);
  });

  it("refuse a file that was edited after it was applied", () => {
    expect(() => pendingMigrations([file("1_a", "other")], [row("1_a")])).toThrow(/1_a was edited after/);
  });

  it("refuse a database that is ahead of this version", () => {
    expect(() => pendingMigrations([file("1_a")], [row("1_a"), row("9_z")])).toThrow(/9_z/);
  });

  it("refuse to go on after a migration that failed half-way", () => {
    expect(() => pendingMigrations([file("1_a")], [row("1_a", undefined, false)])).toThrow(/half-way/);
  });
});
