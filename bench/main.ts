import { measure } from './measure.ts'
import { HELP, type Options, readOptions, UsageError } from './options.ts'
import { reportText } from './report.ts'
import { Scope } from './scope.ts'

/** Standard output contains nothing but the report. */
const say = (line: string) => console.error(`bench: ${line}`)

try {
  const options = readOptions(process.argv.slice(2))
  if (options === null) console.log(HELP)
  else await main(options)
} catch (error) {
  if (error instanceof UsageError) console.error(`${error.message}\n\n${HELP}`)
  else console.error(error)
  process.exitCode = error instanceof UsageError ? 2 : 1
}

async function main(options: Options): Promise<void> {
  const scope = new Scope()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => scope.end().finally(() => process.exit(130)))
  }
  try {
    const report = await measure(scope, options, say)
    console.log(options.json ? JSON.stringify(report, null, 2) : reportText(report))
  } finally {
    await scope.end()
  }
}
