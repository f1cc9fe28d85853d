import { useEffect, useState } from 'react'
import type { Crop } from './crop.ts'
import type { Picture } from './read-picture.ts'

const SIDE = 192

/** @returns what is cut out, as a picture of its own that the card can show; null where nothing is */
export function usePicturePreview(picture: Picture | null, crop: Crop | null): string | null {
  const [preview, setPreview] = useState<string | null>(null)
  useEffect(() => {
    if (picture === null || crop === null) return setPreview(null)
    // Once a frame is often enough, however fast the pointer moves.
    const frame = requestAnimationFrame(() => setPreview(cutOut(picture, crop)))
    return () => cancelAnimationFrame(frame)
  }, [picture, crop])
  return preview
}

function cutOut({ image }: Picture, { x, y, size }: Crop): string | null {
  const canvas = document.createElement('canvas')
  canvas.width = SIDE
  canvas.height = SIDE
  const context = canvas.getContext('2d')
  if (context === null) return null
  context.drawImage(image, x, y, size, size, 0, 0, SIDE, SIDE)
  return canvas.toDataURL('image/png')
}
