import type { Queue, QueueEntry, SqlRunner } from '#src/warehouse/queue/queue.ts'

/** The queue with other methods in place of some of its own. */
export function queueWith(queue: Queue, methods: Partial<Queue>): Queue {
  return new Proxy(queue, {
    get(target, name) {
      const value: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** The queue that offers entries which would wait at least `seconds` with the delay that `wait` returns, in seconds. */
export function whereWaiting(
  queue: Queue,
  seconds: number,
  wait: (entry: QueueEntry, on: SqlRunner) => Promise<number>,
): Queue {
  return queueWith(queue, {
    async offer(on, entries) {
      const offered: QueueEntry[] = []
      for (const entry of entries)
        offered.push(
          entry.delaySeconds < seconds ? entry : { ...entry, delaySeconds: await wait(entry, on) },
        )
      return await queue.offer(on, offered)
    },
  })
}
