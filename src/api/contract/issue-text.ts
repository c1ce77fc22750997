import type { z } from 'zod'

const kinds: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  date: 'a date',
}

/** What is wrong with a field, in plain words that follow its name. Our own messages stay as they are. */
export function issueText(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.message.endsWith('received undefined')) return 'is missing'
      return `has to be ${kinds[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return customMessage(issue) ?? `has to be one of ${issue.values.map(String).join(', ')}`
    case 'too_small':
      return `has to be ${amount('at least', Number(issue.minimum), issue.origin)}`
    case 'too_big':
      return `has to be ${amount('at most', Number(issue.maximum), issue.origin)}`
    case 'unrecognized_keys':
      return `has unknown fields: ${issue.keys.join(', ')}`
    case 'invalid_union':
      if ('options' in issue && issue.options !== undefined)
        return `has to be one of ${issue.options.map(String).join(', ')}`
      return customMessage(issue) ?? 'has none of the forms that are allowed'
    case 'invalid_format':
      return customMessage(issue) ?? 'is malformed'
    default:
      return issue.message
  }
}

/** The message, unless it is one of zod's own. */
function customMessage({ message }: z.core.$ZodIssue): string | null {
  return /^Invalid\b/.test(message) ? null : message
}

function amount(bound: string, size: number, origin: string): string {
  if (origin === 'string') return `${bound} ${size} characters long`
  return origin === 'array' ? `${bound} ${size} items long` : `${bound} ${size}`
}
