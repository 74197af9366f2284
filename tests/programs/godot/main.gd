extends Node3D
var frames := 0
func _process(_delta):
	frames += 1
	if frames == int(OS.get_environment("FRAMES")):
		await RenderingServer.frame_post_draw
		get_viewport().get_texture().get_image().save_png(OS.get_environment("PICTURE"))
		get_tree().quit()
