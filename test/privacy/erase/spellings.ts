/** The contacts of a customer to erase, short enough for narrow columns. */
export const asked = { email: 'a@b.example', phone: '0412345678' }

/** Texts that have the e-mail, in every spelling that an erasure finds. */
export const emailSpellings = [
  'a@b.example',
  'A@B.EXAMPLE',
  'mailto:a@b.example?subject=x',
  'a@b.example.Please ring',
  'a@b.example.please',
  'a@b.examplePlease',
  'a@b.example-ring',
  'a@b.example.',
  'Emaila@b.example',
  'بريدa@b.example',
  '邮箱a@b.example电话',
  '0498765432a@b.example',
  'x@a@b.example',
  'a%40b.example',
  'a%2540b%2Eexample',
  'a%EF%BC%A0b.example',
  'a&#64;b.example',
  'a&#x40;b&period;example',
  'a&amp;commat;b.example',
  '&#97;&#64;b.ex&#97;mple',
  '%61@b.%65xample',
  'a＠b.example',
  'ａ＠ｂ．ｅｘａｍｐｌｅ',
  'a(at)b.example',
  'a [at] b (dot) example',
  'a @ b.example',
  'a\u200b@b.\u200bexample',
  'a@b.exam\u00adple',
  '\u2066a@b.example\u2069',
]

/** Texts that have the phone number. */
export const phoneSpellings = [
  '0412345678',
  '+61 412 345 678',
  'Tel0412-345-678',
  '0061 (0)412.345.678',
  '٠٤١٢٣٤٥٦٧٨',
  '٠٤١٢ ٣٤٥ ٦٧٨',
  '۰۴۱۲۳۴۵۶۷۸',
  '０４１２３４５６７８',
  '०४१२३४५६७८',
  '0412\u200b345\u200b678',
  '0412\u00a0345\u00a0678',
  '0412—345—678',
  '0412%20345%20678',
  '%2B61412345678',
  '&#43;61412&nbsp;345678',
]

/** Similar texts of other people. */
export const othersSpellings = [
  'xa@b.example',
  'a.a@b.example',
  'a+b@b.example',
  'a@b.example.au',
  'a@b.example.org',
  'a@b.examples',
  'a@b.example2',
  'a@bb.example',
  '04123456789',
  '104123456780',
  '٠٤١٢٣٤٥٦٧٨٩',
  'WBA34E00412345678',
]
