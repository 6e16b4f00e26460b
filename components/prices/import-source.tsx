"use client";
import { FileUp } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import { useRef, useState } from "react";
import type { ReactElement } from "react";
import { countText } from "@/components/format/money";
import { useFieldText } from "@/components/query/use-error-text";
import { Button } from "@/components/ui/button";
import { Choice, Field, Input, Textarea } from "@/components/ui/field";
import { formatOfFile, IMPORT_FORMATS, MAX_CHARACTERS } from "./import-draft";
import type { ImportDraft } from "./import-draft";

interface SourceProps {
  readonly draft: ImportDraft;
  readonly errors: Readonly<Record<string, string>>;
  readonly onChange: (change: Partial<ImportDraft>) => void;
}

/** A file this long would make the page slow to type in; it is held and not shown. */
const SHOWN_CHARACTERS = 200_000;

const EXAMPLES = {
  price_map: `{
  "gpt-4o-mini": {
    "litellm_provider": "openai",
    "input_cost_per_token": 1.5e-07,
    "output_cost_per_token": 6e-07
  }
}`,
  yaml: `prices:
  - model: gpt-4o-mini
    currency: USD
    unit: million_tokens
    effectiveFrom: 2027-01-01
    rates:
      inputPerToken: "0.15"
      outputPerToken: "0.60"`,
  csv: `model,currency,unit,effectiveFrom,inputPerToken,outputPerToken
gpt-4o-mini,USD,million_tokens,2027-01-01,0.15,0.60`,
  fx: `base,quote,rate,effectiveFrom,source
USD,CNY,7.12,2027-01-01,PBOC`,
} as const;

function FileButton({ draft, onChange }: Omit<SourceProps, "errors">): ReactElement {
  const t = useTranslations("imports");
  const [problem, setProblem] = useState<"tooLarge" | "unreadable" | null>(null);
  const input = useRef<HTMLInputElement>(null);

  async function take(file: File | undefined): Promise<void> {
    if (file === undefined) return;
    if (file.size > MAX_CHARACTERS) {
      setProblem("tooLarge");
      return;
    }
    try {
      const text = await file.text();
      setProblem(null);
      onChange({
        text,
        format: formatOfFile(file.name, draft.format) ?? draft.format,
        ...(draft.source.trim() === "" ? { source: file.name } : {}),
      });
    } catch {
      setProblem("unreadable");
    }
  }

  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <input
        ref={input}
        type="file"
        accept=".json,.yaml,.yml,.csv,application/json,text/csv"
        className="sr-only"
        tabIndex={-1}
        aria-hidden
        onChange={(event) => {
          void take(event.target.files?.[0]);
          event.target.value = "";
        }}
      />
      <Button onClick={() => input.current?.click()}>
        <FileUp aria-hidden /> {t("chooseFile")}
      </Button>
      <p className="text-xs text-soft">{t("orPaste")}</p>
      {problem === null ? null : (
        <p role="alert" className="w-full text-[0.8125rem] font-medium text-danger">
          {t(`fileProblems.${problem}`)}
        </p>
      )}
    </div>
  );
}

function FileText({ draft, errors, onChange }: SourceProps): ReactElement {
  const t = useTranslations("imports");
  const locale = useLocale();
  const fieldText = useFieldText();
  const { text, format } = draft;
  if (text.length > SHOWN_CHARACTERS) {
    return (
      <div className="flex flex-wrap items-center justify-between gap-2 rounded-md border px-3.5 py-2.5 text-[0.8125rem]">
        <span>{t("longFile", { count: countText(text.length, locale) })}</span>
        <Button size="sm" onClick={() => onChange({ text: "" })}>
          {t("removeFile")}
        </Button>
      </div>
    );
  }
  return (
    <Field label={t("field.text")} hint={t(`formatHint.${format}`)} error={fieldText(errors["text"])}>
      {(attributes) => (
        <Textarea
          {...attributes}
          rows={12}
          spellCheck={false}
          className="font-mono text-[0.8125rem] leading-relaxed"
          value={text}
          placeholder={EXAMPLES[format]}
          onChange={(event) => onChange({ text: event.target.value })}
        />
      )}
    </Field>
  );
}

/** What is imported: its format, the file or its text, and where it is from. */
export function ImportSource(props: SourceProps): ReactElement {
  const { draft, errors, onChange } = props;
  const t = useTranslations("imports");
  const fieldText = useFieldText();
  return (
    <div className="grid gap-5">
      <fieldset>
        <legend className="mb-1 text-[0.8125rem] font-medium">{t("field.format")}</legend>
        <div className="grid gap-x-6 sm:grid-cols-2">
          {IMPORT_FORMATS.map((format) => (
            <Choice
              key={format}
              type="radio"
              name="format"
              label={t(`formats.${format}`)}
              hint={t(`formatNote.${format}`)}
              checked={draft.format === format}
              onChange={() => onChange({ format })}
            />
          ))}
        </div>
      </fieldset>
      <FileButton draft={draft} onChange={onChange} />
      <FileText {...props} />
      <Field label={t("field.source")} hint={t("hint.source")} error={fieldText(errors["source"])}>
        {(attributes) => (
          <Input
            {...attributes}
            value={draft.source}
            maxLength={200}
            autoComplete="off"
            onChange={(event) => onChange({ source: event.target.value })}
          />
        )}
      </Field>
    </div>
  );
}
