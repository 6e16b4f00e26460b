"use client";
import { KeyRound, Search } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { QueryView } from "@/components/query/query-view";
import { useDebounced } from "@/components/query/use-debounced";
import { PageHeader } from "@/components/shell/page-header";
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/card";
import { Input, Select } from "@/components/ui/field";
import { EmptyState } from "@/components/ui/notice";
import { SkeletonRows } from "@/components/ui/skeleton";
import { API_KEY_STATES } from "@/lib/contracts/keys";
import type { ApiKeyList, ApiKeyListQuery } from "@/lib/contracts/keys";
import { CreateKeyDrawer } from "./create-key-drawer";
import { RevokeDialog, RotateDialog } from "./key-dialogs";
import { KeyTable } from "./key-table";
import type { KeyPanel } from "./key-table";
import { SecretDialog } from "./secret-dialog";
import { useApiKeys } from "./use-keys";

const STATES = ["all", ...API_KEY_STATES] as const;

interface Filter {
  readonly text: string;
  readonly state: ApiKeyListQuery["state"];
}

function Filters({
  filter,
  onChange,
}: {
  readonly filter: Filter;
  readonly onChange: (change: Partial<Filter>) => void;
}): ReactElement {
  const t = useTranslations("keys");
  return (
    <div className="mb-3 flex flex-wrap gap-2" role="search">
      <div className="relative min-w-56 flex-1 sm:max-w-sm">
        <Search aria-hidden className="pointer-events-none absolute top-1/2 left-3 size-4 -translate-y-1/2 text-soft" />
        <Input
          type="search"
          aria-label={t("search")}
          placeholder={t("search")}
          className="pl-9"
          value={filter.text}
          onChange={(event) => onChange({ text: event.target.value })}
        />
      </div>
      <Select
        aria-label={t("stateFilter")}
        className="w-auto"
        value={filter.state}
        onChange={(event) => onChange({ state: STATES.find((one) => one === event.target.value) ?? "all" })}
      >
        {STATES.map((one) => (
          <option key={one} value={one}>
            {t(one === "all" ? "allStates" : `states.${one}`)}
          </option>
        ))}
      </Select>
    </div>
  );
}

function Panel({
  panel,
  list,
  nowMs,
  onClose,
  onSecret,
}: {
  readonly panel: KeyPanel | null;
  readonly list: ApiKeyList;
  readonly nowMs: number;
  readonly onClose: () => void;
  readonly onSecret: (secret: string) => void;
}): ReactElement | null {
  if (panel === null) return null;
  switch (panel.kind) {
    case "create":
      return <CreateKeyDrawer list={list} onClose={onClose} onSecret={onSecret} />;
    case "rotate":
      return <RotateDialog apiKey={panel.apiKey} onClose={onClose} onSecret={onSecret} />;
    case "revoke":
      return <RevokeDialog apiKey={panel.apiKey} nowMs={nowMs} onClose={onClose} />;
  }
}

/** What the page shows below its filters: rows, or why there are none. */
function Rows({
  list,
  filter,
  nowMs,
  onOpen,
  onClear,
  more,
}: {
  readonly list: ApiKeyList;
  readonly filter: Filter;
  readonly nowMs: number;
  readonly onOpen: (panel: KeyPanel) => void;
  readonly onClear: () => void;
  /** Fetches the next page; null where this is all. */
  readonly more: { readonly fetch: () => void; readonly isBusy: boolean } | null;
}): ReactElement {
  const t = useTranslations("keys");
  const c = useTranslations("common");
  if (list.keys.length > 0) {
    return (
      <>
        <KeyTable list={list} nowMs={nowMs} onOpen={onOpen} />
        <div className="flex min-h-12 flex-wrap items-center gap-3 border-t px-4 py-2">
          <p className="text-xs text-soft" role="status">
            {t("count", { shown: list.keys.length, total: list.total })}
          </p>
          {more === null ? null : (
            <Button size="sm" disabled={more.isBusy} onClick={more.fetch}>
              {more.isBusy ? c("loading") : t("older")}
            </Button>
          )}
        </div>
      </>
    );
  }
  const isFiltered = filter.text !== "" || filter.state !== "all";
  return (
    <EmptyState
      title={t(isFiltered ? "noMatchTitle" : "emptyTitle")}
      body={t(isFiltered ? "noMatchBody" : "emptyBody")}
      action={
        isFiltered ? (
          <Button onClick={onClear}>{t("clear")}</Button>
        ) : list.apps.length > 0 ? (
          <Button variant="primary" onClick={() => onOpen({ kind: "create" })}>
            {t("create")}
          </Button>
        ) : undefined
      }
    />
  );
}

export function KeysPage(): ReactElement {
  const t = useTranslations("keys");
  const [filter, setFilter] = useState<Filter>({ text: "", state: "all" });
  const [panel, setPanel] = useState<KeyPanel | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const text = useDebounced(filter.text.trim());
  const found = useApiKeys({ q: text, state: filter.state });
  const { data, dataUpdatedAt, fetchNextPage, hasNextPage, isFetchingNextPage } = found;
  // What is true of the whole list (how many, which apps) is newest in the page read last.
  const newest = data?.pages.at(-1);
  const list = newest === undefined ? undefined : { ...newest, keys: data?.pages.flatMap((page) => page.keys) ?? [] };
  return (
    <>
      <PageHeader
        title={t("title")}
        lead={t("lead")}
        actions={
          list !== undefined && list.apps.length > 0 ? (
            <Button variant="primary" onClick={() => setPanel({ kind: "create" })}>
              <KeyRound aria-hidden /> {t("create")}
            </Button>
          ) : undefined
        }
      />
      <Filters filter={filter} onChange={(change) => setFilter((before) => ({ ...before, ...change }))} />
      <QueryView query={{ ...found, data: list }} skeleton={<SkeletonRows />}>
        {(shown) => (
          <Card>
            <Rows
              list={shown}
              filter={filter}
              nowMs={dataUpdatedAt}
              onOpen={setPanel}
              onClear={() => setFilter({ text: "", state: "all" })}
              more={hasNextPage ? { fetch: () => void fetchNextPage(), isBusy: isFetchingNextPage } : null}
            />
          </Card>
        )}
      </QueryView>
      {list === undefined ? null : (
        <Panel
          panel={panel}
          list={list}
          nowMs={dataUpdatedAt}
          onClose={() => setPanel(null)}
          onSecret={(value) => {
            setPanel(null);
            setSecret(value);
          }}
        />
      )}
      {secret === null ? null : <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </>
  );
}
