/** One good call or more for every governed route, and the models that serve them. */
import type { UpsertModelInput } from "@/lib/contracts/models";
import type { PriceRates } from "@/lib/domain/price-rates";
import { PASSTHROUGH } from "./route-list";

export interface RouteModel {
  /** As the sandbox knows it. */
  readonly name: string;
  readonly kind: UpsertModelInput["kind"] | "passthrough";
  /** What the sandbox charges, in USD for one. */
  readonly rates: PriceRates;
}

const CHAT: RouteModel = {
  name: "sandbox-omni",
  kind: "chat",
  rates: {
    ...{ inputPerToken: "0.0000025", cacheReadPerToken: "0.00000025", outputPerToken: "0.00001" },
    services: {
      batch: { inputPerToken: "0.00000125", cacheReadPerToken: "0.000000125", outputPerToken: "0.000005" },
    },
  },
};
/** What batches are made of. */
export const BATCH_MODEL = CHAT;
const CLAUDE: RouteModel = {
  name: "sandbox-claude-small",
  kind: "chat",
  rates: { inputPerToken: "0.000001", cacheReadPerToken: "0.0000001", outputPerToken: "0.000005" },
};
const GEMINI: RouteModel = {
  name: "sandbox-gemini-flash",
  kind: "chat",
  rates: { inputPerToken: "0.0000003", cacheReadPerToken: "0.00000003", outputPerToken: "0.0000025" },
};
const INSTRUCT: RouteModel = {
  name: "sandbox-instruct",
  kind: "completion",
  rates: { inputPerToken: "0.0000015", outputPerToken: "0.000002" },
};
const EMBED: RouteModel = {
  name: "sandbox-embed",
  kind: "embedding",
  rates: { inputPerToken: "0.00000002" },
};
const MODERATION: RouteModel = {
  name: "sandbox-moderation",
  kind: "moderation",
  rates: { inputPerToken: "0" },
};
const RERANK: RouteModel = {
  name: "sandbox-rerank",
  kind: "rerank",
  rates: { perQuery: "0.002" },
};
const IMAGE: RouteModel = {
  name: "sandbox-image",
  kind: "image",
  rates: {
    inputPerToken: "0.000005",
    cacheReadPerToken: "0.00000125",
    outputPerToken: "0.00004",
    imageInputPerToken: "0.00001",
    imageOutputPerToken: "0.00004",
  },
};
const SPEECH: RouteModel = {
  name: "sandbox-tts",
  kind: "speech",
  rates: { perCharacter: "0.000015" },
};
const WHISPER: RouteModel = {
  name: "sandbox-whisper",
  kind: "transcription",
  rates: { inputPerSecond: "0.0001" },
};
/** A path that nobody governs; its model has its name. Free, as counting is: who has nothing left is refused all the same. */
const COUNT: RouteModel = {
  name: "responses/input_tokens",
  kind: "passthrough",
  rates: { perRequest: "0" },
};

export const ROUTE_MODELS: readonly RouteModel[] = [
  ...[CHAT, CLAUDE, GEMINI, INSTRUCT, EMBED, MODERATION, RERANK, IMAGE, SPEECH, WHISPER, COUNT],
];

/** Uploads are free: nothing is booked of them. */
export const FREE_ROUTES = ["files"];

/** Routes whose calls the sandbox sells for nothing and leaves out of its bill. */
export const UNBILLED_ROUTES = ["messages/count_tokens", "models/countTokens", PASSTHROUGH];

export interface Sample {
  readonly route: string;
  readonly model: RouteModel;
  /** The call with the model under a name, which stands in the path on some routes. */
  readonly call: (model: string, fileId?: string) => { readonly path: string; readonly body: string | FormData };
}

type Fields = Readonly<Record<string, unknown>>;

function json(route: string, model: RouteModel, fields: Fields): Sample {
  const call = (name: string) => ({ path: route, body: JSON.stringify({ model: name, ...fields }) });
  return { route, model, call };
}

const BYTES_PER_SECOND = 16_000;

/** One second of silence: WAV, 8 kHz, 16 bits, one channel. Its header counts as sound for nobody but the bound. */
function recording(): Buffer<ArrayBuffer> {
  const file = Buffer.alloc(BYTES_PER_SECOND);
  file.write("RIFF", 0, "latin1");
  file.writeUInt32LE(file.length - 8, 4);
  file.write("WAVEfmt ", 8, "latin1");
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(BYTES_PER_SECOND / 2, 24);
  file.writeUInt32LE(BYTES_PER_SECOND, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write("data", 36, "latin1");
  file.writeUInt32LE(file.length - 44, 40);
  return file;
}

/** As SDKs do it: the file before the model. */
function form(route: string, model: RouteModel, fileField: string, fields: Readonly<Record<string, string>>): Sample {
  const call = (name: string) => {
    const body = new FormData();
    body.set(fileField, new Blob([recording()]), "upload.wav");
    for (const [field, value] of Object.entries({ model: name, ...fields })) body.set(field, value);
    return { path: route, body };
  };
  return { route, model, call };
}

function gemini(action: string, query = ""): Sample {
  const contents = [{ role: "user", parts: [{ text: "Say something." }] }];
  const body = JSON.stringify({ contents, ...(action === "countTokens" ? {} : GEMINI_CAP) });
  const call = (name: string) => ({ path: `models/${name}:${action}${query}`, body });
  return { route: `models/${action}`, model: GEMINI, call };
}

/** A file of one line, and a batch of such a file. */
const BATCH_LINE = { custom_id: "a", method: "POST", url: "/v1/chat/completions" };
const FILE: Sample = {
  ...{ route: "files", model: BATCH_MODEL },
  call: (model) => {
    const body = new FormData();
    const line = { ...BATCH_LINE, body: { model, messages, max_tokens: 20 } };
    body.set("file", new Blob([JSON.stringify(line)]), "in.jsonl");
    body.set("purpose", "batch");
    return { path: "files", body };
  },
};
const BATCH: Sample = {
  ...{ route: "batches", model: BATCH_MODEL },
  call: (_model, fileId = "") => {
    const asked = { input_file_id: fileId, endpoint: BATCH_LINE.url, completion_window: "24h" };
    return { path: "batches", body: JSON.stringify(asked) };
  },
};

const GEMINI_CAP = { generationConfig: { maxOutputTokens: 20 } };
const messages = [{ role: "user", content: "hello" }];

export const SAMPLES: readonly Sample[] = [
  json("chat/completions", CHAT, { messages, max_tokens: 20 }),
  json("chat/completions", CHAT, { messages, max_tokens: 20, stream: true }),
  json("responses", CHAT, { input: "hello", max_output_tokens: 20 }),
  json("responses", CHAT, { input: "hello", max_output_tokens: 20, stream: true }),
  json("responses", CHAT, { input: "hello", max_output_tokens: 20, background: true }),
  json("completions", INSTRUCT, { prompt: "hello", max_tokens: 20 }),
  json("completions", INSTRUCT, { prompt: "hello", max_tokens: 20, stream: true }),
  json("embeddings", EMBED, { input: "hello" }),
  json("moderations", MODERATION, { input: "hello" }),
  json("rerank", RERANK, { query: "water", documents: ["blue water", "fire"] }),
  json("images/generations", IMAGE, { prompt: "A dot", quality: "low" }),
  json("images/edits", IMAGE, {
    prompt: "A dot",
    quality: "low",
    images: [{ image_url: "data:image/png;base64,AAAA" }],
  }),
  form("images/edits", IMAGE, "image", { prompt: "A dot", quality: "low" }),
  form("images/variations", IMAGE, "image", {}),
  json("audio/speech", SPEECH, { voice: "alloy", input: "hello" }),
  form("audio/transcriptions", WHISPER, "file", {}),
  form("audio/translations", WHISPER, "file", {}),
  json("messages", CLAUDE, { max_tokens: 20, messages }),
  json("messages", CLAUDE, { max_tokens: 20, messages, stream: true }),
  json("messages/count_tokens", CLAUDE, { messages }),
  gemini("generateContent"),
  gemini("streamGenerateContent", "?alt=sse"),
  gemini("streamGenerateContent"),
  gemini("countTokens"),
  {
    route: PASSTHROUGH,
    model: COUNT,
    call: (name) => ({ path: name, body: JSON.stringify({ model: "sandbox-small", input: "hello" }) }),
  },
  ...[FILE, BATCH],
];
