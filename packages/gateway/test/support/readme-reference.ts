import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../../../test/support/service.ts'
import { CONFIG_FIELDS } from '../../src/forward-auth/config.ts'
import { type Field, POLICY_FIELDS, ROUTE_FIELDS, RULE_FIELDS } from '../../src/policy/fields.ts'

export const README = join(ROOT, 'packages/gateway/README.md')

/** What stands between two marks of the README. */
export function partOf(name: string): string {
  const part = new RegExp(`<!-- ${name} -->\n(.*?)<!-- /${name} -->`, 's').exec(
    readFileSync(README, 'utf8'),
  )
  if (part === null) throw new Error(`README.md has no part ${name}`)
  return part[1] as string
}

type Fields = Readonly<Record<string, Field<unknown>>>

/** The reference as the code has it, which the README has word for word. */
export const REFERENCE: Readonly<Record<string, () => string>> = {
  policy: () =>
    [
      ...table('field', POLICY_FIELDS as Fields),
      ...rows(RULE_FIELDS as Fields),
      '| `routes` | a list of routes | `[]` | Rules for some requests; the first matching route applies |',
      '',
      'A route has these fields, and all fields from `levels` on. Fields that it omits are inherited from the policy.',
      '',
      ...table('field', ROUTE_FIELDS as Fields),
      '',
    ].join('\n'),
  config: () =>
    [
      ...table('field', CONFIG_FIELDS as Fields),
      '| `policy` | an object | `{}` | The policy, as above |',
      '',
    ].join('\n'),
}

function table(head: string, fields: Fields): string[] {
  return [
    `| ${head} | type | default | description |`,
    '| --- | --- | --- | --- |',
    ...rows(fields),
  ]
}

function rows(fields: Fields): string[] {
  return Object.entries(fields).map(([name, { read, defaultValue, description }]) => {
    const value =
      defaultValue === undefined || defaultValue === '' ? '' : `\`${JSON.stringify(defaultValue)}\``
    return `| \`${name}\` | ${read.accepts} | ${value} | ${description} |`
  })
}
