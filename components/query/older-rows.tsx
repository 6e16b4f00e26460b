"use client";
import type { UseInfiniteQueryResult } from "@tanstack/react-query";
import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { Button } from "@/components/ui/button";

interface OlderRowsProps {
  readonly query: Pick<UseInfiniteQueryResult, "hasNextPage" | "isFetchingNextPage" | "fetchNextPage">;
  readonly label: string;
}

/** The foot of a list that goes on: nothing where it does not. */
export function OlderRows({ query, label }: OlderRowsProps): ReactElement | null {
  const c = useTranslations("common");
  if (!query.hasNextPage) return null;
  return (
    <div className="border-t p-3 text-center">
      <Button disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        {query.isFetchingNextPage ? c("loading") : label}
      </Button>
    </div>
  );
}
