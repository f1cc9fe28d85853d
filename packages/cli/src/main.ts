import { processIo } from './io.ts'
import { run } from './run.ts'

// A reader such as `head` may stop reading. What the command does still comes to its end.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}

const exitCode = await run(process.argv.slice(2), processIo())
if (exitCode !== 0) process.exitCode = exitCode
