import { runCountersign } from './program.ts'

const exitCode = await runCountersign(process.argv.slice(2))
if (exitCode !== 0) process.exitCode = exitCode
