# cmake -DOUTPUT=file.c -DINPUTS=a.ini,b.ini -P presets.cmake: the table of
# conf/presets.h from the files of conf/presets/.

string(REPLACE "," ";" inputs "${INPUTS}")
set(arrays "")
set(rows "")
foreach(input IN LISTS inputs)
	get_filename_component(name ${input} NAME_WE)
	string(MAKE_C_IDENTIFIER ${name} id)
	file(READ ${input} hex HEX)
	string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
	string(APPEND arrays
		"static const unsigned char text_${id}[] = { ${bytes} };\n")
	string(APPEND rows
		"\t{ \"${name}\", text_${id}, sizeof(text_${id}) },\n")
endforeach()
set(text "#include \"conf/presets.h\"\n\n${arrays}\nconst struct preset presets_all[] = {\n${rows}\t{ NULL, NULL, 0 },\n};\n")
file(WRITE ${OUTPUT} "${text}")
