import { beforeStatements, type OperationName, open, operate } from './killable-operations.ts'

/* Does one operation and kills its own process with SIGKILL before the given statement of it. Arguments: the file, the operation,
 * the number of the statement. */

const [file = '', name = '', before = ''] = process.argv.slice(2)
const setup = await open(file)
beforeStatements((number) => {
  if (number === Number(before)) process.kill(process.pid, 'SIGKILL')
})
await operate(setup, name as OperationName)
process.exit(0)
