"use client";
import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { Choice } from "@/components/ui/field";
import { ROTATION_GRACE_SECONDS } from "@/lib/contracts/keys";

interface GraceChoiceProps {
  readonly legend: string;
  readonly value: number;
  readonly onChange: (seconds: number) => void;
}

/** For how long the secret before is good beside the new one. */
export function GraceChoice({ legend, value, onChange }: GraceChoiceProps): ReactElement {
  const t = useTranslations("keys");
  return (
    <fieldset>
      <legend className="mb-1 text-[0.8125rem] font-medium">{legend}</legend>
      {ROTATION_GRACE_SECONDS.map((seconds) => (
        <Choice
          key={seconds}
          type="radio"
          name="grace"
          label={t(`grace.${String(seconds) as "0"}`)}
          checked={value === seconds}
          onChange={() => onChange(seconds)}
        />
      ))}
    </fieldset>
  );
}
