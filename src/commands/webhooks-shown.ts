import type { Listed, SubscriptionPlan } from '../webhook/subscription-plan.ts'
import { table } from './table.ts'

/** What went wrong at a rooftop. */
export interface Failed {
  readonly error: string
}

/** Never the query: an address of others may hold a secret there. */
export function shown({ id, event, type, url }: Listed) {
  const parsed = URL.parse(url)
  return { id, event, type, url: parsed === null ? '?' : parsed.origin + parsed.pathname }
}

/** A plan as --json tells it. */
export function shownPlan({ create, update, remove: gone, same, foreign }: SubscriptionPlan) {
  return {
    create: create.map(({ event, url }) => ({ event, url })),
    update: update.map(({ listed, wanted, why }) => ({ ...shown(listed), to: wanted.url, why })),
    delete: gone.map(({ listed, why }) => ({ ...shown(listed), why })),
    same: same.map(({ listed }) => shown(listed)),
    foreign: foreign.map(shown),
  }
}

/** A plan as --json tells it. */
export type ShownPlan = ReturnType<typeof shownPlan>

/** Whether there is anything to do. */
export function hasDrift({ create, update, delete: gone }: ShownPlan): boolean {
  return create.length + update.length + gone.length > 0
}

/** The plans for a person, a line for each subscription. */
export function planTable(results: Readonly<Record<string, ShownPlan | Failed>>): string[] {
  const rows = Object.entries(results).flatMap(([uid, one]) => {
    if ('error' in one) return []
    return [
      ...one.create.map(({ event, url }) => [uid, 'create', '-', event, url, '']),
      ...one.update.map(({ id, event, to, why }) => [
        uid,
        'update',
        String(id),
        event ?? '-',
        to,
        why,
      ]),
      ...one.delete.map(({ id, event, url, why }) => [
        uid,
        'delete',
        String(id),
        event ?? '-',
        url,
        why,
      ]),
      ...one.same.map(({ id, event, url }) => [uid, 'same', String(id), event ?? '-', url, '']),
      ...one.foreign.map(({ id, event, url }) => [
        uid,
        'foreign',
        String(id),
        event ?? '-',
        url,
        '',
      ]),
    ]
  })
  return table(['rooftop', 'what', 'id', 'event', 'to', 'why'], rows)
}
