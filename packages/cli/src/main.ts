import { processIo } from './io.ts'
import { run } from './run.ts'

const exitCode = await run(process.argv.slice(2), processIo())
if (exitCode !== 0) process.exitCode = exitCode
