// Migrating takes a second, cloning a database a tenth of one: so migrate once, under a name that says what is in it.
import { createHash } from "node:crypto";
import { join } from "node:path";
import pg from "pg";
import { migrate, readMigrations } from "@/scripts/migrate";

export async function prepareTemplate(adminUrl: string): Promise<string> {
  const migrations = readMigrations(join(import.meta.dirname, "..", "..", "prisma", "migrations"));
  const content = migrations.map((migration) => migration.checksum).join(" ");
  const name = `spillway_template_${createHash("sha256").update(content).digest("hex").slice(0, 12)}`;
  await withAdmin(adminUrl, async (client) => {
    await client.query("select pg_advisory_lock(hashtext($1))", [name]);
    const found = await client.query("select 1 from pg_database where datname = $1", [name]);
    if (found.rowCount !== 0) return;
    // Under a draft name until it is whole: a run that was killed here must not leave a half-migrated template.
    const draft = `${name}_draft`;
    await client.query(`drop database if exists ${client.escapeIdentifier(draft)} with (force)`);
    await client.query(`create database ${client.escapeIdentifier(draft)}`);
    await migrate(databaseUrl(adminUrl, draft));
    await client.query(`alter database ${client.escapeIdentifier(draft)} rename to ${client.escapeIdentifier(name)}`);
  });
  return name;
}

export async function cloneDatabase(adminUrl: string, template: string, name: string): Promise<string> {
  await withAdmin(adminUrl, async (client) => {
    await client.query(`drop database if exists ${client.escapeIdentifier(name)} with (force)`);
    // Cloning needs the template to itself for a moment.
    await client.query("select pg_advisory_lock(hashtext($1))", [template]);
    await client.query(
      `create database ${client.escapeIdentifier(name)} template ${client.escapeIdentifier(template)}`,
    );
  });
  return databaseUrl(adminUrl, name);
}

export function databaseUrl(anyUrl: string, database: string): string {
  const url = new URL(anyUrl);
  url.pathname = `/${database}`;
  return url.href;
}

async function withAdmin(adminUrl: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl(adminUrl, "postgres") });
  client.on("error", () => undefined);
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
