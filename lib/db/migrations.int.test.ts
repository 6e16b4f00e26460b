/** The migrations make what prisma/schema.prisma says: neither is changed without the other. Partial indexes and checks are the migrations' own. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { testDatabaseUrl } from "@/lib/testing/services";
import { getDb } from "./client";
import type { Db } from "./client";

let db: Db;
beforeAll(async () => {
  db = getDb(await testDatabaseUrl());
});

const TYPES: Readonly<Record<string, string>> = {
  String: "text",
  Int: "integer",
  BigInt: "bigint",
  Boolean: "boolean",
  DateTime: "timestamp(3) with time zone",
  Json: "jsonb",
  Bytes: "bytea",
};

interface Field {
  readonly name: string;
  readonly column: string;
  readonly type: string;
  readonly isList: boolean;
  readonly isOptional: boolean;
  readonly attributes: string;
}

interface Model {
  readonly table: string;
  readonly fields: readonly Field[];
  readonly blockAttributes: readonly string[];
}

const lines = readFileSync(join(import.meta.dirname, "../../prisma/schema.prisma"), "utf8")
  .split("\n")
  .map((line) => line.replace(/\s*\/\/\/?.*$/u, ""));

function blocksOf(kind: "model" | "enum"): Map<string, string[]> {
  const blocks = new Map<string, string[]>();
  let current: string[] | undefined;
  for (const line of lines) {
    const opened = new RegExp(`^${kind} (\\w+) \\{$`, "u").exec(line)?.[1];
    if (opened !== undefined) blocks.set(opened, (current = []));
    else if (line === "}") current = undefined;
    else if (current && line.trim() !== "") current.push(line.trim());
  }
  return blocks;
}

const enums = blocksOf("enum");
const modelBlocks = blocksOf("model");

function fieldOf(line: string): Field | undefined {
  const [, name, type, suffix = "", attributes = ""] = /^(\w+)\s+(\w+)(\[\]|\?)?\s*(.*)$/u.exec(line) ?? [];
  if (name === undefined || type === undefined || modelBlocks.has(type)) return undefined;
  const column = /@map\("(\w+)"\)/u.exec(attributes)?.[1] ?? name;
  return { name, column, type, isList: suffix === "[]", isOptional: suffix === "?", attributes };
}

const models = new Map(
  [...modelBlocks].map(([name, block]): [string, Model] => {
    const blockAttributes = block.filter((line) => line.startsWith("@@"));
    const table = blockAttributes.map((line) => /^@@map\("(\w+)"\)/u.exec(line)?.[1]).find((found) => found) ?? name;
    const fields = block.filter((line) => !line.startsWith("@@")).flatMap((line) => fieldOf(line) ?? []);
    return [name, { table, fields, blockAttributes }];
  }),
);

/** "[reservedAt, kind]" as columns. */
function columnsOf({ fields }: Model, list: string): string {
  const names = list.split(",").map((name) => name.trim());
  return names.map((name) => fields.find((field) => field.name === name)?.column ?? `?${name}`).join(", ");
}

const ofEveryModel = (of: (model: Model, block: readonly string[]) => string[]): string[] =>
  [...models].flatMap(([name, model]) => of(model, modelBlocks.get(name) ?? [])).sort();

async function texts(sql: string): Promise<string[]> {
  const { rows } = await db.pool.query<{ text: string }>(sql);
  return rows.map((row) => row.text).sort();
}

/** Tables of ours: no partition, and not Prisma's books. */
const OURS = `c.relnamespace = 'public'::regnamespace AND NOT c.relispartition AND c.relname <> '_prisma_migrations'`;

describe("the migrated database", () => {
  it("has the columns of the schema, of the same types and as optional", async () => {
    const wanted = ofEveryModel(({ table, fields }) =>
      fields.map(({ column, type, isList, isOptional }) => {
        const one = enums.has(type) ? `"${type}"` : (TYPES[type] ?? `?${type}`);
        return `${table}.${column} ${one}${isList ? "[]" : ""} ${isOptional || isList ? "null" : "not null"}`;
      }),
    );
    expect(wanted.length).toBeGreaterThan(250);
    const made = await texts(
      `SELECT c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) ||
         CASE WHEN a.attnotnull THEN ' not null' ELSE ' null' END AS text
       FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
       WHERE ${OURS} AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped`,
    );
    expect(made).toEqual(wanted);
  });

  it("has a default where the schema has one that the database gives", async () => {
    // @updatedAt and other values of the client's are no defaults of the database.
    const wanted = ofEveryModel(({ table, fields }) =>
      fields.filter(({ attributes }) => attributes.includes("@default(")).map(({ column }) => `${table}.${column}`),
    );
    const made = await texts(
      `SELECT c.relname || '.' || a.attname AS text
       FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.adnum
       WHERE ${OURS}`,
    );
    expect(made).toEqual(wanted);
  });

  it("has the values of the schema's enums, in their order", async () => {
    const wanted = [...enums].map(([name, values]) => `${name}: ${values.join(", ")}`).sort();
    const made = await texts(
      `SELECT t.typname || ': ' || string_agg(e.enumlabel, ', ' ORDER BY e.enumsortorder) AS text
       FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid GROUP BY t.typname`,
    );
    expect(made).toEqual(wanted);
  });

  it("has the schema's keys and indexes", async () => {
    const wanted = ofEveryModel((model) => [
      ...model.fields.flatMap(({ column, attributes }) => {
        if (/@id\b/u.test(attributes)) return [`${model.table} primary (${column})`];
        return /@unique\b/u.test(attributes) ? [`${model.table} unique (${column})`] : [];
      }),
      ...model.blockAttributes.flatMap((line) => {
        const [, kind = "", list = ""] = /^@@(id|unique|index)\(\[([^\]]*)\]/u.exec(line) ?? [];
        const word = { id: "primary", unique: "unique", index: "index" }[kind];
        return word === undefined ? [] : [`${model.table} ${word} (${columnsOf(model, list)})`];
      }),
    ]);
    const made = await texts(
      `SELECT c.relname || CASE WHEN i.indisprimary THEN ' primary (' WHEN i.indisunique THEN ' unique (' ELSE ' index (' END ||
         string_agg(a.attname, ', ' ORDER BY k.place) || ')' AS text
       FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
         CROSS JOIN LATERAL unnest(i.indkey::int[]) WITH ORDINALITY AS k (number, place)
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number
       WHERE ${OURS} AND i.indpred IS NULL AND i.indexprs IS NULL
       GROUP BY i.indexrelid, c.relname, i.indisprimary, i.indisunique`,
    );
    expect(made).toEqual(wanted);
  });

  it("has the schema's references between tables", async () => {
    const wanted = ofEveryModel((model, block) =>
      block.flatMap((line) => {
        const [, target = "", list = "", references = ""] =
          /^\w+\s+(\w+)\??\s.*@relation\(.*fields: \[([^\]]*)\], references: \[([^\]]*)\]/u.exec(line) ?? [];
        const other = models.get(target);
        return other === undefined
          ? []
          : [`${model.table} (${columnsOf(model, list)}) to ${other.table} (${columnsOf(other, references)})`];
      }),
    );
    const names = (table: string, numbers: string) =>
      `(SELECT string_agg(a.attname, ', ' ORDER BY k.place) FROM unnest(${numbers}) WITH ORDINALITY AS k (number, place)
         JOIN pg_attribute a ON a.attrelid = ${table} AND a.attnum = k.number)`;
    const made = await texts(
      `SELECT c.relname || ' (' || ${names("f.conrelid", "f.conkey")} || ') to ' || t.relname || ' (' || ${names("f.confrelid", "f.confkey")} || ')' AS text
       FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid JOIN pg_class t ON t.oid = f.confrelid
       WHERE f.contype = 'f' AND ${OURS}`,
    );
    expect(wanted.length).toBeGreaterThan(5);
    expect(made).toEqual(wanted);
  });
});
