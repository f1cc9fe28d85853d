import { type KeyboardEvent, type PointerEvent, useEffect, useId, useRef } from 'react'
import { type Crop, maxZoom, moveCrop, zoomCrop, zoomOf } from './crop.ts'
import type { Picture } from './read-picture.ts'

interface CropperProps {
  readonly picture: Picture
  readonly crop: Crop
  readonly onChange: (crop: Crop) => void
}

/** The share of the stage that the crop takes. The rest shows what is cut off. */
const FRAME = 0.8
const STEP = 0.02
const ZOOM_STEP = 1.1

const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
}

/** Selects a square by dragging, arrow keys and a zoom slider. */
export function Cropper({ picture, crop, onChange }: CropperProps) {
  const id = useId()
  const stage = useRef<HTMLDivElement>(null)
  const drag = useRef<{ x: number; y: number; crop: Crop } | null>(null)
  const max = maxZoom(picture)

  useEffect(() => stage.current?.focus(), [])

  function onPointerDown({ clientX, clientY, pointerId, currentTarget }: PointerEvent) {
    currentTarget.setPointerCapture(pointerId)
    drag.current = { x: clientX, y: clientY, crop }
  }

  function onPointerMove({ clientX, clientY, currentTarget }: PointerEvent) {
    if (drag.current === null) return
    const { x, y, crop: cropAtStart } = drag.current
    const scale = cropAtStart.size / (currentTarget.clientWidth * FRAME)
    // Dragging moves the picture, so the crop moves in the opposite direction.
    onChange(moveCrop(picture, cropAtStart, (x - clientX) * scale, (y - clientY) * scale))
  }

  function onKeyDown(event: KeyboardEvent) {
    const next = cropByKey(picture, crop, event)
    if (next === null) return
    event.preventDefault()
    onChange(next)
  }

  return (
    <div className="flex flex-col gap-4">
      <div
        ref={stage}
        role="slider"
        tabIndex={0}
        aria-label="Visible part of the picture"
        aria-describedby={id}
        aria-valuenow={share(crop.x, picture.width - crop.size)}
        aria-valuetext={`${share(crop.x, picture.width - crop.size)} % from the left, ${share(crop.y, picture.height - crop.size)} % from the top`}
        className="relative aspect-square w-full max-w-80 cursor-grab touch-none overflow-hidden rounded-xl bg-sunken select-none active:cursor-grabbing"
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={() => {
          drag.current = null
        }}
        onPointerCancel={() => {
          drag.current = null
        }}
        onKeyDown={onKeyDown}
      >
        <img
          src={picture.url}
          alt=""
          draggable={false}
          className="pointer-events-none absolute max-w-none"
          style={imageStyle(picture, crop)}
        />
        <div className="pointer-events-none absolute inset-1/10 rounded-xl border-2 border-white shadow-[0_0_0_100vmax_rgb(0_0_0/0.55)]" />
      </div>
      <label className="flex max-w-80 flex-col gap-1.5">
        <span className="font-medium">Zoom</span>
        <input
          type="range"
          min={1}
          max={max}
          step={0.01}
          value={zoomOf(picture, crop)}
          disabled={max === 1}
          aria-valuetext={`${Math.round(zoomOf(picture, crop) * 100)} %`}
          onChange={({ target }) => onChange(zoomCrop(picture, crop, Number(target.value)))}
          className="h-6 w-full cursor-pointer accent-accent"
        />
      </label>
      <p id={id} className="max-w-80 text-soft text-sm">
        Drag the picture or use the arrow keys to move it. Use + and - to zoom.
      </p>
    </div>
  )
}

function cropByKey(picture: Picture, crop: Crop, { key, shiftKey }: KeyboardEvent): Crop | null {
  const arrow = ARROWS[key]
  if (arrow) {
    const step = Math.max(1, crop.size * STEP * (shiftKey ? 5 : 1))
    return moveCrop(picture, crop, arrow[0] * step, arrow[1] * step)
  }
  const zoom = zoomOf(picture, crop)
  if (key === '+' || key === '=') return zoomCrop(picture, crop, zoom * ZOOM_STEP)
  if (key === '-') return zoomCrop(picture, crop, zoom / ZOOM_STEP)
  return null
}

/** In percent, so that the stage need not be measured. */
function imageStyle({ width, height }: Picture, { x, y, size }: Crop) {
  const scale = (FRAME * 100) / size
  const edge = (1 - FRAME) * 50
  return {
    left: `${edge - x * scale}%`,
    top: `${edge - y * scale}%`,
    width: `${width * scale}%`,
    height: `${height * scale}%`,
  }
}

function share(part: number, whole: number): number {
  return whole === 0 ? 50 : Math.round((part / whole) * 100)
}
