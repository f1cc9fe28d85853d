import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Runs openssl, which has to succeed. @returns its standard output */
export async function openssl(...args: string[]): Promise<Buffer> {
  const { stdout } = await promisify(execFile)('openssl', args, { encoding: 'buffer' })
  return stdout
}

/** The public key of a PEM file, in base64: the last 32 bytes of its DER. */
export async function opensslPublicKey(privateKeyFile: string): Promise<string> {
  const der = await openssl('pkey', '-in', privateKeyFile, '-pubout', '-outform', 'DER')
  return der.subarray(-32).toString('base64')
}
