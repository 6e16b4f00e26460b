"use client";
import { KeyRound } from "lucide-react";
import { useTranslations } from "next-intl";
import { parseAsBoolean, parseAsString, parseAsStringLiteral, useQueryStates } from "nuqs";
import { useState } from "react";
import type { ReactElement } from "react";
import { QueryView } from "@/components/query/query-view";
import { PageHeader } from "@/components/shell/page-header";
import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/card";
import { Select } from "@/components/ui/field";
import { EmptyState } from "@/components/ui/notice";
import { SearchField } from "@/components/ui/search-field";
import { SkeletonRows } from "@/components/ui/skeleton";
import { API_KEY_STATES } from "@/lib/contracts/keys";
import type { ApiKeyList } from "@/lib/contracts/keys";
import { CreateKeyDrawer } from "./create-key-drawer";
import { RevokeDialog, RotateDialog } from "./key-dialogs";
import { KeyTable } from "./key-table";
import type { KeyPanel } from "./key-table";
import { SecretDialog } from "./secret-dialog";
import { useApiKeys } from "./use-keys";
import type { ApiKeyFilter } from "./use-keys";

const STATES = ["all", ...API_KEY_STATES] as const;

type Filter = ApiKeyFilter;

/** The filters and the open form, kept in the address: back, reload and a link show the same. */
function useAddress(): {
  readonly filter: Filter;
  readonly setFilter: (change: Partial<Filter>) => void;
  readonly isCreating: boolean;
  readonly setCreating: (isCreating: boolean) => void;
} {
  const [{ q, state, create }, setState] = useQueryStates({
    q: parseAsString.withDefault(""),
    state: parseAsStringLiteral(STATES).withDefault("all"),
    create: parseAsBoolean.withDefault(false),
  });
  return {
    filter: { q, state },
    setFilter: (change) => void setState(change),
    isCreating: create,
    setCreating: (isCreating) => void setState({ create: isCreating }),
  };
}

function Filters({
  filter,
  onChange,
}: {
  readonly filter: Filter;
  readonly onChange: (change: Partial<Filter>) => void;
}): ReactElement {
  const t = useTranslations("keys");
  const [clearings, setClearings] = useState(0);
  const isFiltered = filter.q !== "" || filter.state !== "all";
  return (
    <div className="mb-3 flex flex-wrap gap-2" role="search">
      <SearchField
        key={clearings}
        className="sm:max-w-sm"
        label={t("search")}
        value={filter.q}
        onChange={(q) => onChange({ q })}
      />
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
      {isFiltered ? (
        <Button
          variant="ghost"
          onClick={() => {
            setClearings(clearings + 1);
            onChange({ q: "", state: "all" });
          }}
        >
          {t("clear")}
        </Button>
      ) : null}
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
  isFiltered,
  nowMs,
  onOpen,
  more,
}: {
  readonly list: ApiKeyList;
  readonly isFiltered: boolean;
  readonly nowMs: number;
  readonly onOpen: (panel: KeyPanel) => void;
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
  return (
    <EmptyState
      title={t(isFiltered ? "noMatchTitle" : "emptyTitle")}
      body={t(isFiltered ? "noMatchBody" : "emptyBody")}
      action={
        !isFiltered && list.apps.length > 0 ? (
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
  const { filter, setFilter, isCreating, setCreating } = useAddress();
  const [panel, setPanel] = useState<KeyPanel | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const found = useApiKeys(filter);
  const { data, dataUpdatedAt, fetchNextPage, hasNextPage, isFetchingNextPage } = found;
  const isFiltered = filter.q !== "" || filter.state !== "all";
  const close = (): void => {
    setPanel(null);
    setCreating(false);
  };
  // What is true of the whole list (how many, which apps) is newest in the page read last.
  const newest = data?.pages.at(-1);
  const list = newest === undefined ? undefined : { ...newest, keys: data?.pages.flatMap((page) => page.keys) ?? [] };
  return (
    <>
      <PageHeader
        title={t("title")}
        lead={t("lead")}
        actions={
          // Where nothing is there yet, what is shown in its place has the button.
          list !== undefined && list.apps.length > 0 && (list.keys.length > 0 || isFiltered) ? (
            <Button variant="primary" onClick={() => setCreating(true)}>
              <KeyRound aria-hidden /> {t("create")}
            </Button>
          ) : undefined
        }
      />
      <Filters filter={filter} onChange={setFilter} />
      <QueryView query={{ ...found, data: list }} skeleton={<SkeletonRows />}>
        {(shown) => (
          <Card>
            <Rows
              list={shown}
              isFiltered={isFiltered}
              nowMs={dataUpdatedAt}
              onOpen={(next) => (next.kind === "create" ? setCreating(true) : setPanel(next))}
              more={hasNextPage ? { fetch: () => void fetchNextPage(), isBusy: isFetchingNextPage } : null}
            />
          </Card>
        )}
      </QueryView>
      {list === undefined ? null : (
        <Panel
          panel={isCreating && list.apps.length > 0 ? { kind: "create" } : panel}
          list={list}
          nowMs={dataUpdatedAt}
          onClose={close}
          onSecret={(value) => {
            close();
            setSecret(value);
          }}
        />
      )}
      {secret === null ? null : <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </>
  );
}
