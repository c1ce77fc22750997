import { findMeanings } from '../../stock/csv/map/aliases.ts'
import { headerKey } from '../../stock/csv/map/header-name.ts'
import type { Field as StockField } from '../../stock/csv/map/stock-fields.ts'
import type { Rule } from './decide.ts'

// The names that the trade uses. A name ranks and explains: alone it proves nothing.

/** The last key of a path, alone and behind the key above it: `Owner.Name` is `name` and `ownername`. */
function pathNames(path: string): string[] {
  const parts = path.split('.').filter((part) => part !== '0')
  const key = headerKey(parts.at(-1)!)
  return [
    key,
    headerKey(parts.slice(-2).join('')),
    key.replace(/^(vehicle|veh|car|appraisal|evaluation|eval|customer|cust)(?=.)/, ''),
  ]
}

function named(list: string): Rule['isNamed'] {
  const names = new Set(list.split(/\s+/))
  return (path) => pathNames(path).some((name) => names.has(name))
}

/** Named as in the stock lists of dealers. */
function asInStock(...fields: readonly StockField[]): Rule['isNamed'] {
  return (path) =>
    findMeanings(
      path
        .split('.')
        .at(-1)!
        .replace(/^(vehicle|veh|car|eval)[_-]?(?=[A-Z_-])/i, ''),
    ).some(({ field, confidence }) => confidence >= 0.7 && fields.includes(field))
}

const people = ['customer', 'owner', 'client', 'contact', 'seller', 'cust', 'c', 'vendor']
const ofPerson = (list: string) => {
  const plain = list.split(' ')
  return named([...plain, ...people.flatMap((who) => plain.map((name) => who + name))].join(' '))
}

/** The fields of an evaluation that the document does not show, by the names of their settings. */
const evaluation: Readonly<Record<string, Omit<Rule, 'setting'>>> = {
  dealerId: {
    form: 'number',
    isNamed: named(
      'dealerid dealershipid rooftopid branchid storeid siteid locationid dealerno yardid',
    ),
  },
  make: { form: 'make', isNamed: asInStock('make'), isRare: true },
  model: { form: 'words', isNamed: asInStock('model') },
  variant: { form: 'words', isNamed: asInStock('variant') },
  year: { form: 'year', isNamed: asInStock('model_year', 'build_date', 'compliance_date') },
  registration: { form: 'plate', isNamed: asInStock('plate'), isDistinct: true },
  registrationState: { form: 'state', isNamed: asInStock('plate_state') },
  odometer: { form: 'odometer', isNamed: asInStock('odometer') },
  colour: { form: 'colour', isNamed: asInStock('colour_exterior'), isRare: true },
  condition: {
    form: 'score',
    isNamed: named('condition conditionscore grade rating score condrating overallcondition'),
  },
  notes: {
    form: 'text',
    isNamed: named(
      'notes note comments comment remarks memo appraisalnotes generalnotes description',
    ),
  },
  customerName: {
    form: 'words',
    isNamed: named(
      'customername ownername clientname contactname sellername cname fullname customer registeredowner vendor owner cfullname ownerfullname customerfullname',
    ),
  },
  customerPhone: {
    form: 'phone',
    isNamed: ofPerson(
      'phone mobile cell tel telephone number phonenumber mobileno mobilenumber contactnumber phoneno',
    ),
    isRare: true,
    isDistinct: true,
  },
  customerEmail: {
    form: 'email',
    isNamed: ofPerson('email mail emailaddress'),
    isRare: true,
    isDistinct: true,
  },
  customerPostcode: {
    form: 'postcode',
    isNamed: ofPerson('postcode zip zipcode pcode postalcode postal'),
  },
  customerState: { form: 'state', isNamed: ofPerson('state province region county') },
  customerAddress: {
    form: 'address',
    isNamed: ofPerson('address street streetaddress addr line1 addressline1 address1'),
    isRare: true,
    isDistinct: true,
  },
  customerSuburb: { form: 'words', isNamed: ofPerson('suburb city town locality') },
}

/** The rules of `wire.appraisal.evaluation`. */
export const evaluationRules: readonly Rule[] = Object.entries(evaluation).map(([name, rule]) => ({
  setting: `appraisal.evaluation.${name}`,
  ...rule,
}))

/** Fields of `/dcupdateeval` by the setting with their meaning. */
export const sentAs: Readonly<Record<string, string>> = {
  ...{ odometer: 'km', notes: 'notes', condition: 'condition', customerName: 'cName' },
  ...{ customerPhone: 'cPhone', customerEmail: 'cEmail', customerPostcode: 'cPCode' },
  ...{ customerState: 'cState', customerAddress: 'cAddress', customerSuburb: 'cSuburb' },
}

export const listId: Rule = {
  setting: 'appraisal.evalList.id',
  form: 'number',
  isNamed: named('id evalid evaluationid appraisalid ref'),
  isDistinct: true,
}
export const listUpdate: Rule = {
  setting: 'appraisal.evalList.updatedAt',
  form: 'instant',
  isNamed: named(
    'updatedat updated modified modifiedat lastmodified lastchanged lastupdated changedat ts',
  ),
}
export const pastId: Rule = {
  setting: 'appraisal.pastCheck.id',
  form: 'id',
  isNamed: named('id checkid searchid reportid ref reference uid recordid ppsrid'),
  isDistinct: true,
}
export const pastTime: Rule = {
  setting: 'appraisal.pastCheck.createdAt',
  form: 'instant',
  isNamed: named(
    'createdat created searchedat searchdate runat date timestamp orderedat reportdate createddate',
  ),
  isRare: true,
}
export const pastLink: Rule = {
  setting: 'appraisal.pastCheck.pdfUrl',
  form: 'link',
  isNamed: named('pdfurl pdf url link reporturl documentlink download file certificateurl href'),
  isRare: true,
  isDistinct: true,
}
export const watchId: Rule = { ...pastId, setting: 'appraisal.watch.checkId' }
export const watchTime: Rule = {
  setting: 'appraisal.watch.checkedAt',
  form: 'instant',
  isNamed: named('checkedat lastchecked lastcheckedat checked asat'),
}
