const body = (name: string, text: string, rows: readonly (readonly [string, string])[]) => ({
  name,
  text,
  rows,
})
/** @param why not every reader understands it alike, or a person cannot see all of it */
const refused = (why: Why, name: string, text: string) => ({ name, why, text })
type Why = 'json' | 'object' | 'names' | 'name' | 'unicode' | 'values' | 'levels'
const list = (count: number) => `{"a":[${Array(count).fill('1').join(',')}]}`
const deep = (levels: number) => `{"a":${'['.repeat(levels - 1)}1${']'.repeat(levels - 1)}}`

/** What a person sees of a body. The rows were written by hand. */
export const BODIES = {
  valid: [
    body('a purchase', '{"total":"129.00","currency":"EUR","to":"Example GmbH"}', [
      ['/total', '"129.00"'],
      ['/currency', '"EUR"'],
      ['/to', '"Example GmbH"'],
    ]),
    body('numbers as they are written', '{"n":[1e3,129.00,12345678901234567890,-0,1E+2]}', [
      ['/n/0', '1e3'],
      ['/n/1', '129.00'],
      ['/n/2', '12345678901234567890'],
      ['/n/3', '-0'],
      ['/n/4', '1E+2'],
    ]),
    body('literals, and text that looks like them', '{"a":true,"b":"true","c":null,"d":"null"}', [
      ['/a', 'true'],
      ['/b', '"true"'],
      ['/c', 'null'],
      ['/d', '"null"'],
    ]),
    body('nothing', ' { } ', [['', '{}']]),
    body('empty values', '{"a":{},"b":[],"c":"","d":[[ ]]}', [
      ['/a', '{}'],
      ['/b', '[]'],
      ['/c', '""'],
      ['/d/0', '[]'],
    ]),
    body('white space between tokens', '\n{\t"a" :\r\n[ 1 , 2 ]\n}\n', [
      ['/a/0', '1'],
      ['/a/1', '2'],
    ]),
    body('names that are escaped in a pointer', '{"a/b":1,"c~d":2,"e\\u002ff":3}', [
      ['/a~1b', '1'],
      ['/c~0d', '2'],
      ['/e~1f', '3'],
    ]),
    body('quotation marks and backslashes', '{"a":"1\\" /b \\"2","c":"\\\\","d":"{,:}"}', [
      ['/a', '"1\\" /b \\"2"'],
      ['/c', '"\\\\"'],
      ['/d', '"{,:}"'],
    ]),
    body('an override of the direction, and line breaks', '{"a":"\\u202e00.921","b":"1\\n2"}', [
      ['/a', '"\u27e8U+202E\u27e900.921"'],
      ['/b', '"1\u27e8U+000A\u27e92"'],
    ]),
    body(
      'blank letters, and a bracket of an escape',
      '{"a":"\u3164\u115f\u2800","b":"\u27e8U+202E\u27e9"}',
      [
        ['/a', '"\u27e8U+3164\u27e9\u27e8U+115F\u27e9\u27e8U+2800\u27e9"'],
        ['/b', '"\u27e8U+27E8\u27e9U+202E\u27e9"'],
      ],
    ),
    body(
      'letters, marks and symbols',
      '{"to":"M\u00fcller \u2013 129,00 \u20ac","n":"u\u0308 \ud83d\udc4d"}',
      [
        ['/to', '"M\u00fcller \u2013 129,00 \u20ac"'],
        ['/n', '"u\u0308 \ud83d\udc4d"'],
      ],
    ),
    body(
      '40 values',
      list(40),
      Array.from({ length: 40 }, (_, at) => [`/a/${at}`, '1'] as const),
    ),
    body('5 levels', deep(5), [['/a/0/0/0/0', '1']]),
  ],
  invalid: [
    refused('names', 'a name twice', '{"total":1,"total":1000}'),
    refused('names', 'a name in two cases', '{"total":1,"Total":1000}'),
    refused('names', 'a name twice, escaped', '{"total":1,"tot\\u0061l":1000}'),
    refused('names', 'a name in two cases, within', '{"a":[{"b":1,"B":2}]}'),
    refused('name', '__proto__', '{"__proto__":1}'),
    refused('name', 'an empty name', '{"":1}'),
    refused('name', 'a name with a space', '{"a b":1}'),
    refused('name', 'a name outside ASCII', '{"t\u00f6tal":1}'),
    refused('name', 'a name that lower case makes ASCII', '{"\\u212aey":1}'),
    refused('name', 'a name of 65 characters', `{"${'a'.repeat(65)}":1}`),
    refused('unicode', 'a lone surrogate, escaped', '{"a":"\\ud800"}'),
    refused('values', '41 values', list(41)),
    refused('levels', '6 levels', deep(6)),
    refused('object', 'an array', '[1]'),
    refused('object', 'text', '"a"'),
    refused('json', 'nothing at all', ''),
    refused('json', 'two objects', '{"a":1}{"a":2}'),
    refused('json', 'a comma too many', '{"a":1,}'),
    refused('json', 'a leading zero', '{"a":01}'),
    refused('json', 'NaN', '{"a":NaN}'),
    refused('json', 'a comment', '{"a":1/* */}'),
    refused('json', 'a byte order mark', '\ufeff{"a":1}'),
    refused('json', 'a line break in text', '{"a":"1\n2"}'),
  ],
}
