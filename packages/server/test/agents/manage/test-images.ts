import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { crc32, createDeflate } from 'node:zlib'
import sharp, { type Sharp } from 'sharp'

/** Images, and files that only resemble images. */

const PNG_START = Buffer.from('89504e470d0a1a0a', 'hex')

export function pngChunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, checksum])
}

/** An 8-bit grayscale PNG whose header declares a size that its data need not match. */
export function pngOf(width: number, height: number, ...chunks: Buffer[]): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.writeUInt8(8, 8)
  return Buffer.concat([
    PNG_START,
    pngChunk('IHDR', header),
    ...chunks,
    pngChunk('IEND', new Uint8Array()),
  ])
}

/** Deflated zeros, a thousandth of their size. Built in chunks, so that they are never in memory at once. */
export async function deflatedZeroes(bytes: number): Promise<Buffer> {
  const piece = Buffer.alloc(Math.min(bytes, 1 << 20))
  const pieces = Array.from({ length: Math.ceil(bytes / piece.length) }, () => piece)
  return buffer(Readable.from(pieces).pipe(createDeflate()))
}

interface Colour {
  readonly r: number
  readonly g: number
  readonly b: number
}

export const RED = { r: 255, g: 0, b: 0 }
export const BLUE = { r: 0, g: 0, b: 255 }

/** An image with one color on the left and another on the right. */
export function halves(width: number, height: number, left: Colour, right: Colour): Sharp {
  const half = { create: { width: width / 2, height, channels: 3 as const, background: left } }
  return sharp({ create: { width, height, channels: 3, background: right } }).composite([
    { input: half, left: 0, top: 0 },
  ])
}

/** Which of the two colors a pixel has. */
export async function colourAt(picture: Uint8Array, x: number, y: number): Promise<'red' | 'blue'> {
  const { data, info } = await sharp(picture)
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true })
  const at = (y * info.width + x) * info.channels
  return (data[at] as number) > (data[at + 2] as number) ? 'red' : 'blue'
}
