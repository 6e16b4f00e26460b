"use client";
import { Plus, X } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { useFieldText } from "@/components/query/use-error-text";
import { Button } from "@/components/ui/button";
import { Choice, Input, Select } from "@/components/ui/field";
import type { TokenIssuerList } from "@/lib/contracts/token-issuers";
import type { IssuerDraft } from "./issuer-draft";

interface MappingProps {
  readonly list: TokenIssuerList;
  readonly draft: IssuerDraft;
  readonly error: string | undefined;
  readonly onChange: (change: Partial<IssuerDraft>) => void;
}

type Row = IssuerDraft["mapping"][number];

function Rows({ list, draft, onChange }: Omit<MappingProps, "error">): ReactElement {
  const t = useTranslations("issuers");
  const { mapping } = draft;
  const set = (index: number, change: Partial<Row>): void =>
    onChange({ mapping: mapping.map((row, place) => (place === index ? { ...row, ...change } : row)) });
  return (
    <ul className="grid gap-2">
      {mapping.map((row, index) => (
        // Rows have no name of their own while they are typed.
        <li key={index} className="flex flex-wrap items-center gap-2">
          <Input
            aria-label={t("claimedValue", { number: index + 1 })}
            className="min-w-0 flex-1 basis-32 font-mono text-[0.8125rem]"
            value={row.value}
            maxLength={200}
            placeholder={t("claimedExample")}
            onChange={(event) => set(index, { value: event.target.value })}
          />
          <Select
            aria-label={t("standsFor", { number: index + 1 })}
            className="min-w-0 flex-1 basis-40"
            value={row.consumerId}
            onChange={(event) => set(index, { consumerId: event.target.value })}
          >
            {list.consumers.some((one) => one.id === row.consumerId) ? null : (
              <option value={row.consumerId}>{row.consumerId}</option>
            )}
            {list.consumers.map((one) => (
              <option key={one.id} value={one.id}>
                {one.path.join(" / ")}
              </option>
            ))}
          </Select>
          <Button
            variant="ghost"
            size="icon"
            aria-label={t("removeRow", { number: index + 1 })}
            onClick={() => onChange({ mapping: mapping.filter((_, place) => place !== index) })}
          >
            <X aria-hidden />
          </Button>
        </li>
      ))}
    </ul>
  );
}

/** What a claimed value stands for. */
export function ConsumerMapping({ list, draft, error, onChange }: MappingProps): ReactElement {
  const t = useTranslations("issuers");
  const fieldText = useFieldText();
  const { isMapped, mapping } = draft;
  return (
    <fieldset className="grid gap-2">
      <legend className="mb-1 text-[0.8125rem] font-medium">{t("field.consumers")}</legend>
      {[true, false].map((one) => (
        <Choice
          key={String(one)}
          type="radio"
          name="mapped"
          label={t(one ? "mapped" : "unmapped")}
          hint={t(one ? "mappedHint" : "unmappedHint")}
          checked={isMapped === one}
          onChange={() => onChange({ isMapped: one })}
        />
      ))}
      {isMapped ? (
        <>
          <Rows list={list} draft={draft} onChange={onChange} />
          {mapping.length === 0 ? <p className="text-xs text-warn-ink">{t("noMapping")}</p> : null}
          <Button
            size="sm"
            className="justify-self-start"
            onClick={() => onChange({ mapping: [...mapping, { value: "", consumerId: list.consumers[0]?.id ?? "" }] })}
          >
            <Plus aria-hidden /> {t("addRow")}
          </Button>
        </>
      ) : null}
      {error === undefined ? null : (
        <p role="alert" className="text-[0.8125rem] font-medium text-danger">
          {fieldText(error)}
        </p>
      )}
    </fieldset>
  );
}
