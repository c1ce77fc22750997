import type { Db } from '../db/transaction.ts'
import type { WriteFile } from './downloads.ts'
import type { StockDoor } from './stock/stock-door.ts'

/** What other parts of the program do for the console, which may not import them; `serve` fills it in. */
export interface Doors {
  /** Signs the links again that are about to expire, of all rooftops of the config. Gives the run that does it, in this process. */
  readonly refreshLinks: () => Promise<number>
  /** The links in scope by the hours that they have left. */
  readonly linkLife: (db: Db) => Promise<LinkFigures>
  /** The links in scope that expire within some hours, by rooftop; read by index, however many others there are. */
  readonly expiringLinks: (
    db: Db,
    hours: number,
  ) => Promise<
    readonly { readonly name: string; readonly count: number; readonly soonest: string }[]
  >
  /** The webhooks of the last 7 days. */
  readonly webhooks: (db: Db) => Promise<WebhookFigures>
  /** The newest completions of the last 7 days that were subscribed and not delivered within 6 hours. */
  readonly lostWebhooks: (
    db: Db,
    limit: number,
  ) => Promise<
    readonly {
      readonly rooftopUid: string
      readonly evalId: number
      readonly completedAt: string
    }[]
  >
  /** Today's use (UTC) of each budget that allows or has used a call. */
  readonly spend: (db: Db) => Promise<Readonly<Record<string, SpendFigures>>>
  /** The jobs of the schedule, by name. */
  readonly jobs: (db: Db) => Promise<Readonly<Record<string, JobFigures>>>
  /** The receivers of alerts, by name, without their addresses. */
  readonly alerts: (db: Db) => Promise<Readonly<Record<string, AlertFigures>>>
  /** Starts a job of the schedule now, in this process, and gives the id of its run. BusyError: it is running. UsageError: it cannot. */
  readonly runJob: (name: string) => Promise<number>
  /** A view of the marts as a file. */
  readonly exportView: (view: string, format: 'csv' | 'xlsx' | 'parquet') => WriteFile
  /** The priced stock list of a rooftop. */
  readonly exportStock: (
    rooftop: { readonly id: number; readonly uid: string },
    format: 'csv' | 'xlsx',
  ) => WriteFile
  /** Uploads of stock lists, and what is done with imported ones. */
  readonly stock: StockDoor
}

/** Links to PDFs, without their URLs. */
export interface LinkFigures {
  /** Hours that part the links. */
  readonly bounds: readonly number[]
  readonly status: {
    readonly status: 'ok' | 'missed'
    readonly inScope: number
    readonly alive: number
    readonly share: number
    readonly objective: number
    readonly hoursToLive: number
    readonly soonestExpiry: string | null
  }
  /** The rooftop whose links expire first is the first. */
  readonly rooftops: readonly {
    readonly uid: string
    readonly name: string
    /** Expired, up to each bound, beyond the last. */
    readonly counts: readonly number[]
    /** Those that would be signed now. */
    readonly toSign: number
  }[]
}

/** Median, and what 95 of 100 are within, in seconds; null: nothing to measure. */
export interface Latency {
  readonly p50: number | null
  readonly p95: number | null
}

/** Webhooks by rooftop uid. */
interface WebhookFigures {
  readonly rooftops: Readonly<
    Record<
      string,
      {
        readonly received: number
        readonly duplicates: number
        readonly processed: number
        readonly kept: number
        readonly waiting: number
        readonly unusable: number
        readonly failed: number
        readonly missed: number
        readonly lastReceivedAt: string | null
        readonly arrivalSeconds: Latency
        readonly loadingSeconds: Latency
      }
    >
  >
  readonly unknownRooftop: number
}

/** Today's use of a budget. */
export interface SpendFigures {
  readonly allowed: number
  /** Committed and reserved. */
  readonly used: number
  readonly unknown: number
  /** Newest first, at most 50. */
  readonly calls: readonly {
    readonly callId: number
    readonly operation: string
    readonly state: 'reserved' | 'committed' | 'released'
    readonly subject: string | null
    readonly vin: string | null
    readonly rooftop: string | null
    readonly by: string
    readonly at: string
    readonly check: string | null
    readonly note: string | null
  }[]
}

/** How a job is. */
export interface JobFigures {
  /** late: a slot has had no good run for longer than the job allows. off: nothing runs it. */
  readonly status: 'ok' | 'running' | 'late' | 'failed' | 'never' | 'off'
  /** Whether a scheduler runs it, or has run it. */
  readonly kept: boolean
  /** Why it cannot run, not even by hand; null: it can. */
  readonly missingSetting: string | null
  readonly does: string
  readonly schedule: string
  readonly timezone: string
  readonly budgetMinutes: number
  /** null: nothing runs it. */
  readonly nextSlotAt: string | null
  readonly last: JobRunFigures | null
  /** Whether its last run began after the slot before the one that is due by now. */
  readonly ranLately: boolean
  readonly lastGoodAt: string | null
  readonly lateSince?: string
  readonly error?: string
}

/** Whether a receiver of alerts gets its messages. */
export interface AlertFigures {
  /** retrying: the last attempt failed, and another follows; failed: a message was not sent after all attempts. */
  readonly status: 'ok' | 'never' | 'retrying' | 'failed'
  readonly lastSentAt: string | null
  readonly waiting: number
  readonly notSent: number
  readonly error: string | null
}

/** A run of a job. */
export interface JobRunFigures {
  readonly trigger: 'schedule' | 'manual'
  readonly slotAt: string | null
  readonly startedAt: string
  readonly finishedAt: string | null
  readonly status: string
  readonly error?: string
}
