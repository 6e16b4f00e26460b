/** The sample company as data: its tree, its people, its budgets. Amounts are USD as decimal text. */
import type { Role } from "@/lib/domain/role";

export interface SampleApp {
  readonly name: string;
  readonly trafficClass: "core" | "general" | "marketing" | "offline";
  readonly isVip?: boolean;
  /** Calls booked in the busiest hour of a working day. */
  readonly peakCalls: number;
  /** Model and share of the calls; the shares add up to 1. */
  readonly models: readonly (readonly [SampleModel, number])[];
  /** Typical tokens of one call. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly dayLimit?: string;
  readonly monthLimit?: string;
}

export interface SampleTeam {
  readonly name: string;
  readonly monthLimit: string;
  readonly apps: readonly SampleApp[];
}

export interface SampleDepartment {
  readonly name: string;
  readonly costCentre: string;
  readonly monthLimit: string;
  readonly overflow: string;
  readonly dayLimit?: string;
  readonly teams: readonly SampleTeam[];
}

export type SampleModel = "sandbox-large" | "sandbox-medium" | "sandbox-small" | "sandbox-embed";

export const COMPANY_NAME = "Lumen Retail / 流明零售";
export const COMPANY_MONTH_LIMIT = "520";

const LARGE = "sandbox-large";
const MEDIUM = "sandbox-medium";
const SMALL = "sandbox-small";
const EMBED = "sandbox-embed";

export const DEPARTMENTS: readonly SampleDepartment[] = [
  {
    name: "电商 E-commerce",
    costCentre: "CC-1100",
    monthLimit: "165",
    overflow: "15",
    teams: [
      {
        name: "客服 Customer Care",
        monthLimit: "78",
        apps: [
          {
            name: "客服助手 care-assistant",
            trafficClass: "core",
            isVip: true,
            peakCalls: 3,
            models: [
              [LARGE, 0.6],
              [SMALL, 0.4],
            ],
            inputTokens: 22_500,
            outputTokens: 6_500,
            dayLimit: "4.5",
          },
          {
            name: "工单分类 ticket-triage",
            trafficClass: "general",
            peakCalls: 2,
            models: [[SMALL, 1]],
            inputTokens: 35_000,
            outputTokens: 2_250,
            dayLimit: "0.12",
          },
        ],
      },
      {
        name: "搜索推荐 Search",
        monthLimit: "40",
        apps: [
          {
            name: "语义搜索 semantic-search",
            trafficClass: "core",
            peakCalls: 2,
            models: [
              [EMBED, 0.6],
              [MEDIUM, 0.4],
            ],
            inputTokens: 65_000,
            outputTokens: 3_000,
          },
          {
            name: "导购 shopping-guide",
            trafficClass: "general",
            peakCalls: 2,
            models: [
              [MEDIUM, 0.7],
              [SMALL, 0.3],
            ],
            inputTokens: 30_000,
            outputTokens: 7_500,
            dayLimit: "1.2",
          },
        ],
      },
      {
        name: "商品内容 Catalogue",
        monthLimit: "45",
        apps: [
          {
            name: "商品文案 product-copy",
            trafficClass: "marketing",
            peakCalls: 1.5,
            models: [
              [LARGE, 0.5],
              [MEDIUM, 0.5],
            ],
            inputTokens: 12_500,
            outputTokens: 10_500,
          },
          {
            name: "翻译 translation",
            trafficClass: "offline",
            peakCalls: 1,
            models: [[SMALL, 1]],
            inputTokens: 45_000,
            outputTokens: 42_500,
          },
        ],
      },
    ],
  },
  {
    name: "市场 Marketing",
    costCentre: "CC-1200",
    monthLimit: "80",
    overflow: "0",
    dayLimit: "4.2",
    teams: [
      {
        name: "内容营销 Campaigns",
        monthLimit: "66",
        apps: [
          {
            name: "广告文案 ad-writer",
            trafficClass: "marketing",
            peakCalls: 2,
            models: [
              [LARGE, 0.7],
              [SMALL, 0.3],
            ],
            inputTokens: 10_000,
            outputTokens: 12_000,
          },
          {
            name: "直播脚本 live-scripts",
            trafficClass: "marketing",
            peakCalls: 1,
            models: [[MEDIUM, 1]],
            inputTokens: 17_500,
            outputTokens: 15_000,
            monthLimit: "15",
          },
        ],
      },
      {
        name: "增长 Growth",
        monthLimit: "20",
        apps: [
          {
            name: "人群洞察 audience-insight",
            trafficClass: "offline",
            peakCalls: 1,
            models: [[MEDIUM, 1]],
            inputTokens: 75_000,
            outputTokens: 6_250,
          },
        ],
      },
    ],
  },
  {
    name: "供应链 Supply Chain",
    costCentre: "CC-1300",
    monthLimit: "40",
    overflow: "10",
    teams: [
      {
        name: "需求预测 Forecasting",
        monthLimit: "40",
        apps: [
          {
            name: "预测报告 forecast-report",
            trafficClass: "offline",
            peakCalls: 1,
            models: [
              [LARGE, 0.3],
              [MEDIUM, 0.7],
            ],
            inputTokens: 55_000,
            outputTokens: 7_500,
          },
          {
            name: "供应商邮件 supplier-mail",
            trafficClass: "general",
            peakCalls: 1.2,
            models: [[SMALL, 1]],
            inputTokens: 15_000,
            outputTokens: 3_750,
          },
        ],
      },
    ],
  },
  {
    name: "研发 Engineering",
    costCentre: "CC-1400",
    monthLimit: "190",
    overflow: "0",
    teams: [
      {
        name: "开发工具 Developer Tools",
        monthLimit: "175",
        apps: [
          {
            name: "代码助手 code-assistant",
            trafficClass: "general",
            peakCalls: 3,
            models: [
              [LARGE, 0.75],
              [SMALL, 0.25],
            ],
            inputTokens: 60_000,
            outputTokens: 6_000,
            dayLimit: "6",
          },
          {
            name: "代码评审 code-review",
            trafficClass: "general",
            peakCalls: 1.5,
            models: [[LARGE, 1]],
            inputTokens: 45_000,
            outputTokens: 4_000,
          },
        ],
      },
      {
        name: "数据平台 Data Platform",
        monthLimit: "14",
        apps: [
          {
            name: "问数 ask-data",
            trafficClass: "general",
            peakCalls: 1.5,
            models: [
              [MEDIUM, 0.6],
              [SMALL, 0.4],
            ],
            inputTokens: 27_500,
            outputTokens: 4_500,
          },
        ],
      },
    ],
  },
];

export interface SamplePerson {
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  /** Department or team by its name; null: the organisation. */
  readonly at: string | null;
}

/** The first one is the sign-in that the seed prints. */
export const PEOPLE: readonly SamplePerson[] = [
  { email: "admin@lumen.example", name: "陈明 Chen Ming", role: "owner", at: null },
  { email: "finance@lumen.example", name: "林悦 Lin Yue", role: "finance", at: null },
  { email: "lead@lumen.example", name: "赵磊 Zhao Lei", role: "lead", at: "电商 E-commerce" },
  { email: "manager@lumen.example", name: "Sarah Wong", role: "manager", at: "客服 Customer Care" },
  { email: "developer@lumen.example", name: "王浩 Wang Hao", role: "developer", at: "开发工具 Developer Tools" },
  { email: "platform@lumen.example", name: "Priya Nair", role: "engineer", at: null },
  { email: "auditor@lumen.example", name: "周宁 Zhou Ning", role: "auditor", at: null },
];
