import { channel, type Channel } from 'node:diagnostics_channel'

/** A request that has ended, repeats each for themselves. */
export interface RequestEnded {
  readonly service: 'appraisal' | 'vehicle-data'
  /** Name of the API key in the config, never its value. */
  readonly keyName: string
  readonly method: string
  /** Below the base URL, without its query. */
  readonly path: string
  /** Null when no whole answer came. */
  readonly status: number | null
  readonly seconds: number
  /** From 1; above it, a repeat. */
  readonly attempt: number
}

/** A slice of work that has ended in this process. */
export interface SliceEnded {
  readonly stream: string
  /** done: committed; fenced: another worker had taken it over, nothing was written; stopped: given up at a signal. */
  readonly outcome: 'done' | 'failed' | 'parked' | 'fenced' | 'stopped'
  /** What became of its records; all 0 unless it is done. */
  readonly rows: Readonly<Record<'inserted' | 'updated' | 'unchanged' | 'quarantined', number>> & {
    readonly vanished: number
    readonly listed: number
    readonly windows: number
  }
}

/** The event loop of this process was blocked for longer than the heartbeats allow. */
export interface EventLoopBlocked {
  readonly seconds: number
}

/** What a part of the program tells of itself. Where nobody listens it costs nothing, and it knows nobody who does. */
export interface Topic<Message> {
  readonly publish: (message: Message) => void
  /** Gives what ends the listening. */
  readonly subscribe: (listener: (message: Message) => void) => () => void
}

/** Of every request to a source. */
export const requestEnded = topic<RequestEnded>('forecourt:request-ended')
/** Of every long block of the event loop. */
export const eventLoopBlocked = topic<EventLoopBlocked>('forecourt:event-loop-blocked')
/** Of every slice of work. */
export const sliceEnded = topic<SliceEnded>('forecourt:slice-ended')

function topic<Message>(name: string): Topic<Message> {
  const messages: Channel = channel(name)
  return {
    publish: (message) => {
      if (messages.hasSubscribers) messages.publish(message)
    },
    subscribe: (listener) => {
      const onMessage = (message: unknown) => listener(message as Message)
      messages.subscribe(onMessage)
      return () => messages.unsubscribe(onMessage)
    },
  }
}
