/** A rule of the learner that is switched off: a text that occurs once in its file, and its replacement. */
export interface Mutant {
  readonly file: string
  readonly text: string
  readonly instead: string
}

const inProof = (text: string, instead: string): Mutant => ({ file: 'proof.ts', text, instead })
const inDecide = (text: string, instead: string): Mutant => ({ file: 'decide.ts', text, instead })
const inLearn = (text: string, instead: string): Mutant => ({ file: 'learn.ts', text, instead })
const inLists = (text: string, instead: string): Mutant => ({
  ...{ file: 'learn-lists.ts', text, instead },
})
const inChecks = (text: string, instead: string): Mutant => ({
  ...{ file: 'learn-checks.ts', text, instead },
})

/** What keeps a finding from being wrong, each switched off, and one that changes nothing. */
export const mutants: Readonly<Record<string, Mutant>> = {
  'nothing changed': inProof('const enoughBits = 30', 'const enoughBits = 30 + 0'),
  'a constant proves': inProof(
    'Math.min(bits ?? countBits(value), most)',
    'bits ?? countBits(value)',
  ),
  'nothing refutes': inProof('wrong >= 2 && wrong > pairs.length / 100', 'false'),
  'few bits prove': inProof('const enoughBits = 30', 'const enoughBits = 1'),
  'a constant may be a rare form': inDecide(
    '((rule.isRare || rule.isDistinct) && isConstant(field))',
    'false',
  ),
  'a copy is not seen': inDecide(
    'field !== only.field && isCopy(only.field, field)',
    'field === null',
  ),
  'any name proves': inDecide('rule.isNamed(only.path) &&', ''),
  'fields of others are possible': inDecide('knowledge.isOther?.(field)', 'false'),
  'few records prove': inDecide('? 8 : fewest', '? 1 : 1'),
  'what is null is absent': inDecide('all.empty === 0 && all.hidden === 0 &&', ''),
  'one equal time refutes': inLists('listed.every(', 'listed.some('),
  'a path of another setting has the form': inLearn('!known.has(path)', 'path.length > 0'),
  'another path is that of the config': inDecide('&& isRead(question, only)', ''),
  'ids of another list are shown': inLists(
    '.filter(([first]) => [itemsOf].flat().includes(first!.list))',
    '',
  ),
  'any path is decided': inDecide(
    'candidates.some(({ path }) => [configured].flat().includes(path))',
    '[configured, candidates].length > 0',
  ),
  'ids that differ are of one evaluation': inLists('areSame(proved) ?', 'true ?'),
  'a plate needs no control': inLearn(
    'const isPlateRead = without.some(',
    'const isPlateRead = true || without.some(',
  ),
  'a state needs no control': inLearn(
    'const isStateRead = without.some(',
    'const isStateRead = true || without.some(',
  ),
  'a dealer needs no control': inLearn(
    'one.value < 10 ? 2 : isControlled && one.value > 99 ? 30 : dealers > 1 ? 15 : 0',
    '30',
  ),
  'an edited field has moved': inLearn(
    "all.filter(({ body }) => valueAt(body, 'UpdatedAt') === updatedAt)",
    'all',
  ),
  'ids of any time prove': inLists(
    'answered.every(({ id, answer }) => isInWindow(known.get(id), answer.request)) &&',
    '',
  ),
  'one id proves': inLists('answered.map(({ id }) => id)).size >= 2', 'answered).size >= 1'),
  'an id may occur twice': inLists(
    'inAnswer.every((each) => new Set(each.map(({ id }) => id)).size === each.length)',
    'true',
  ),
  'the time of creation is that of an update': inLists(
    'others.every((at) => at === undefined || Math.abs(at - updated) >= 1000)',
    'others.length > 0',
  ),
  'the number of a document is an id': inChecks(
    '&& !numbers.includes(comparable(value))',
    '&& numbers.length >= 0',
  ),
  'the number of a vehicle is an id': inChecks('return several && bits >= 30', 'return bits >= 30'),
  'a time may rise down the list': inChecks('isOther: rises', 'isOther: () => false && rises'),
  'a status need not add up': inChecks('|| !isSummed(watched, list.path, only!.path)', ''),
}
