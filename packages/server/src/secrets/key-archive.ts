import type { Decrypter } from 'age-encryption'
import { isSharedSecret } from './secret-files.ts'

/** The first line of the decrypted text. Each further line is the name of a file and its 64 hexadecimal characters. */
const FORMAT = 'countersign-keys-v1'

/** An archive cannot be read. The message says why, and what to do. */
export class KeyArchiveError extends Error {
  override readonly name = 'KeyArchiveError'
}

/**
 * Encrypts secrets with a passphrase, as an age file (age-encryption.org/v1: scrypt with N = 2^18, ChaCha20-Poly1305). `age -d` reads it too.
 * @param secrets 32 bytes each, by the name of the file
 */
export async function sealKeyArchive(
  secrets: ReadonlyMap<string, Buffer>,
  passphrase: string,
): Promise<Uint8Array> {
  // Loaded on first use: only two commands need it.
  const { Encrypter } = await import('age-encryption')
  const encrypter = new Encrypter()
  encrypter.setPassphrase(passphrase)
  const lines = [...secrets].map(([name, secret]) => `${name} ${secret.toString('hex')}\n`)
  return encrypter.encrypt(`${FORMAT}\n${lines.join('')}`)
}

/**
 * Decrypts what `sealKeyArchive` has made.
 * @throws KeyArchiveError if the passphrase is wrong, or the archive is truncated, altered or something else
 */
export async function openKeyArchive(
  archive: Uint8Array,
  passphrase: string,
): Promise<ReadonlyMap<string, Buffer>> {
  const { Decrypter } = await import('age-encryption')
  const decrypter = new Decrypter()
  decrypter.addPassphrase(passphrase)
  return parse(await decrypt(decrypter, archive))
}

async function decrypt(decrypter: Decrypter, archive: Uint8Array): Promise<string> {
  if (!Buffer.from(archive).toString('latin1').startsWith('age-encryption.org/v1\n')) {
    throw new KeyArchiveError('This is no archive of countersignd export-keys.')
  }
  try {
    return await decrypter.decrypt(archive, 'text')
  } catch (cause) {
    const isRefused = cause instanceof Error && cause.message.startsWith('no identity matched')
    throw new KeyArchiveError(
      isRefused
        ? 'The passphrase is wrong, or the archive was altered.'
        : 'The archive is truncated or was altered. Copy it again, or export the keys again.',
      { cause },
    )
  }
}

function parse(text: string): ReadonlyMap<string, Buffer> {
  const [format, ...lines] = text.split('\n')
  const secrets = new Map<string, Buffer>()
  for (const line of lines.slice(0, -1)) {
    const [, name = '', secret = ''] = /^(\S+) ([0-9a-f]{64})$/.exec(line) ?? []
    if (isSharedSecret(name)) secrets.set(name, Buffer.from(secret, 'hex'))
  }
  if (format === FORMAT && secrets.size > 0 && secrets.size === lines.length - 1) return secrets
  throw new KeyArchiveError('The archive has other contents. Use the release that made it.')
}
