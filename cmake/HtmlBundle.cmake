# cmake -DPAGE=FOLDER -DREADY=FOLDER -DNPM=PROGRAM -DWORK=FOLDER -DCACHE=FOLDER -DOUTPUT=FILE.cpp -P HtmlBundle.cmake
#
# Writes OUTPUT with the bundle in READY, or with the one that esbuild makes of PAGE in WORK; see TallyHtml.cmake.

# esbuild and the libraries of the page, as the lock file pins them. Sets `problem` where that fails.
function(install_packages)
  file(SHA256 ${PAGE}/package-lock.json pinned)
  if(EXISTS ${WORK}/installed)
    file(READ ${WORK}/installed installed)
    if(installed STREQUAL pinned)
      return()
    endif()
  endif()
  file(MAKE_DIRECTORY ${WORK})
  file(COPY ${PAGE}/package.json ${PAGE}/package-lock.json DESTINATION ${WORK})
  execute_process(
    COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline --cache ${CACHE}
    WORKING_DIRECTORY ${WORK} RESULT_VARIABLE status OUTPUT_FILE ${WORK}/npm.log ERROR_FILE ${WORK}/npm.log TIMEOUT 300)
  if(NOT status EQUAL 0)
    set(problem "npm ci failed, see ${WORK}/npm.log" PARENT_SCOPE)
    return()
  endif()
  file(WRITE ${WORK}/installed ${pinned})
endfunction()

# An error in the page is an error of the build; that npm cannot fetch something is not.
function(build_bundle)
  install_packages()
  if(problem)
    set(problem ${problem} PARENT_SCOPE)
    return()
  endif()
  file(REMOVE ${WORK}/report.css)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env NODE_PATH=${WORK}/node_modules ${WORK}/node_modules/.bin/esbuild
            ${PAGE}/src/main.ts --bundle --minify --format=iife --target=es2022 --charset=utf8 --log-level=warning
            --outfile=${WORK}/report.js
    RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "esbuild failed")
  endif()
  file(COPY_FILE ${WORK}/node_modules/uplot/LICENSE ${WORK}/licences.txt)
endfunction()

# The bytes of a file as an array and its hash; none where the file does not exist.
function(add_file name file)
  set(bytes "")
  set(hash "")
  if(EXISTS ${file})
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
    file(SHA256 ${file} hash)
  endif()
  file(APPEND ${OUTPUT} "const unsigned char ${name}_bytes[] = {\n${bytes}0};\n"
    "const BundleFile ${name} = {{reinterpret_cast<const char*>(${name}_bytes), sizeof ${name}_bytes - 1}, \"${hash}\"};\n")
endfunction()

set(problem "")
set(folder "${READY}")
if(NOT READY)
  set(folder ${WORK})
  if(NPM)
    build_bundle()
  else()
    set(problem "there is no npm")
  endif()
endif()
if(problem)
  message(WARNING "tally report --html is left out: ${problem}")
  set(folder ${WORK}/none)
endif()
file(WRITE ${OUTPUT} "#include \"report/html/page.h\"\n\nnamespace tally::report {\nnamespace {\n")
add_file(script ${folder}/report.js)
add_file(style ${folder}/report.css)
add_file(licences ${folder}/licences.txt)
file(APPEND ${OUTPUT} "}  // namespace\n\nconst BundleFile& bundle_script() { return script; }\n"
  "const BundleFile& bundle_style() { return style; }\nconst BundleFile& bundle_licences() { return licences; }\n\n}  // namespace tally::report\n")
