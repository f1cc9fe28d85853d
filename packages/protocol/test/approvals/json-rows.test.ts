import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JsonRowsError, jsonRows, visibleText } from '../../src/index.ts'

test('every value is a row, as it is written', () => {
  const body =
    '{"total":"129.00","n":[1e3,129.00,12345678901234567890,-0],"to":{"a/b":true,"c~d":null}}'
  assert.deepEqual(jsonRows(body), [
    ['/total', '"129.00"'],
    ['/n/0', '1e3'],
    ['/n/1', '129.00'],
    ['/n/2', '12345678901234567890'],
    ['/n/3', '-0'],
    ['/to/a~1b', 'true'],
    ['/to/c~0d', 'null'],
  ])
})

test('empty objects, arrays and strings are rows too, which differ from text that looks like them', () => {
  const body = ' { "a" : { } , "b" : [ ] , "c" : "" , "d" : "{}" , "e" : "null", "f": [[]] } '
  assert.deepEqual(jsonRows(body), [
    ['/a', '{}'],
    ['/b', '[]'],
    ['/c', '""'],
    ['/d', '"{}"'],
    ['/e', '"null"'],
    ['/f/0', '[]'],
  ])
  assert.deepEqual(jsonRows('{}'), [['', '{}']])
})

test('text is shown decoded, in quotation marks that it cannot end', () => {
  const body = String.raw`{"\u0061":"\u0045UR","b":"1\" /c \"2","c":"\\","d":" x ","e":"{,:}"}`
  assert.deepEqual(jsonRows(body), [
    ['/a', '"EUR"'],
    ['/b', String.raw`"1\" /c \"2"`],
    ['/c', String.raw`"\\"`],
    ['/d', '" x "'],
    ['/e', '"{,:}"'],
  ])
})

test('what is not drawn, or moves other text, is shown by its number', () => {
  const cases: [text: string, shown: string][] = [
    ['\u202e001', '⟨U+202E⟩001'],
    ['a\n\tb', 'a⟨U+000A⟩⟨U+0009⟩b'],
    ['\u3164\u115f\u2800', '⟨U+3164⟩⟨U+115F⟩⟨U+2800⟩'],
    ['1\ufe0f\u{e0101}', '1⟨U+FE0F⟩⟨U+E0101⟩'],
    ['\u200b\u00ad\ufeff', '⟨U+200B⟩⟨U+00AD⟩⟨U+FEFF⟩'],
    ['\u00a0\u3000\u2028', '⟨U+00A0⟩⟨U+3000⟩⟨U+2028⟩'],
    ['\ue000\u{10ffff}', '⟨U+E000⟩⟨U+10FFFF⟩'],
    // Nobody can write an escape.
    ['⟨U+202E⟩', '⟨U+27E8⟩U+202E⟩'],
    // Marks without end would cover other rows.
    [`1${'\u0336'.repeat(5)}`, `1${'\u0336'.repeat(3)}⟨U+0336⟩⟨U+0336⟩`],
    ['Müller & Söhne – 129,00 € ١٢ 株式会社 👍', 'Müller & Söhne – 129,00 € ١٢ 株式会社 👍'],
    ['u\u0308', 'u\u0308'],
  ]
  for (const [text, shown] of cases) assert.equal(visibleText(text), shown)
  assert.deepEqual(jsonRows('{"a":"\\u202e1"}'), [['/a', '"⟨U+202E⟩1"']])
})

test('what two readers could take differently is refused', () => {
  const deep = (levels: number) => `{"a":${'['.repeat(levels - 1)}1${']'.repeat(levels - 1)}}`
  const values = (count: number) => `{"a":[${Array(count).fill('1').join()}]}`
  assert.equal(jsonRows(values(40)).length, 40)
  assert.equal(jsonRows(deep(5)).length, 1)
  const refused = [
    '',
    '[1]',
    '"a"',
    'null',
    '{"a":1',
    '{"a":1}{"a":1}',
    '{"a":01}',
    "{'a':1}",
    '{"a":1,}',
    '\ufeff{"a":1}',
    '{"total":1,"total":1000}',
    '{"total":1,"Total":1000}',
    '{"total":1,"tot\\u0061l":1000}',
    '{"a":{"b":1,"c":{"d":1,"D":1}}}',
    '{"__proto__":1}',
    '{"\\u005f_proto__":1}',
    '{"":1}',
    '{"a b":1}',
    '{"tötal":1}',
    '{"to\\u017fal":1}',
    `{"${'a'.repeat(65)}":1}`,
    '{"a":"\\ud800"}',
    '{"a":"\ud800"}',
    '{"\\ud800":1}',
    values(41),
    deep(6),
  ]
  for (const body of refused) assert.throws(() => jsonRows(body), JsonRowsError, body)
})
