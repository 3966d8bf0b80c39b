# tapward-api: the only program of daemon/ that reads JSON.

tapward_library(tapward_api
	SOURCES api.c api_budgets.c api_conn.c api_json.c
		api_json_ask.c api_json_status.c api_json_top.c api_route.c
	LINK tapward_conf tapward_base tapward_wire PkgConfig::EVENT PkgConfig::JANSSON)
tapward_program(tapward-api
	DESTINATION ${TAPWARD_LIBEXECDIR}
	SOURCES api_main.c
	LINK tapward_api)
tapward_unit_test(api_json LINK tapward_api)
tapward_fuzz_target(api LINK tapward_api)
