import { type InboxStatus, lateText } from '../../stock/folders/inbox-status.ts'
import { utcText } from '../../values/instant.ts'

/** A line for each drop folder, and what is wrong with it. */
export function inboxLines(inboxes: Readonly<Record<string, InboxStatus>>): string[] {
  return Object.entries(inboxes).flatMap(([label, inbox]) => [
    headLine(label, inbox),
    ...(inbox.problem === null ? [] : [`  ${inbox.problem}`]),
    ...(inbox.lateSince === null ? [] : [`  ${lateText(label, inbox)}`]),
    ...inbox.failed.flatMap(({ file, path, reason, commands }) => [
      `  ${file} needs a person: ${reason.split('\n')[0]}`,
      ...(path === null ? [] : [`    report: ${path}.report.txt`]),
      ...commands.map((command) => `    if the list is right: ${command}`),
    ]),
  ])
}

function headLine(label: string, { status, newestAt, waiting }: InboxStatus): string {
  const newest = newestAt === null ? 'no list yet' : `newest list ${utcText(newestAt)}`
  const names = waiting.slice(0, 5).join(', ')
  const files = waiting.length === 0 ? '' : `; waiting: ${names}${waiting.length > 5 ? ', …' : ''}`
  return `Drop folder ${label}: ${status}, ${newest}${files}`
}
